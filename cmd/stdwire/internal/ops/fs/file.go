package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/userfile"
)

// typeOf returns the type of a file in results.
func typeOf(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "dir"
	case fs.ModeSymlink:
		return "symlink"
	}
	return "other"
}

// modTime returns the modification time in results, truncated to seconds.
func modTime(info fs.FileInfo) time.Time { return info.ModTime().UTC().Truncate(time.Second) }

// checkRegular returns an error unless mode is that of a regular file.
func checkRegular(name string, mode fs.FileMode) error {
	switch typeOf(mode) {
	case "file":
		return nil
	case "dir":
		return dispatch.Errorf(dispatch.StateError, "%q is a directory", name)
	case "symlink":
		return dispatch.Errorf(dispatch.StateError,
			"%q has become a symbolic link meanwhile; try again", name)
	}
	return dispatch.Errorf(dispatch.PermissionDenied,
		"%q is a device, pipe or socket; only regular files are read and written", name)
}

// open opens a regular file for reading. It follows links and does not block. shown is the path for
// errors. The caller closes the file.
func open(dir *os.Root, name, shown string) (*os.File, fs.FileInfo, error) {
	f, info, err := userfile.OpenIn(dir, name)
	if e, ok := errors.AsType[*userfile.NotRegularError](err); ok {
		err = checkRegular(shown, e.Mode)
	}
	return f, info, err
}

// contextReader reads until its context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// hashFile returns the SHA-256 of a file in hexadecimal.
func hashFile(ctx context.Context, dir *os.Root, name, shown string) (string, error) {
	f, _, err := open(dir, name, shown)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, contextReader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
