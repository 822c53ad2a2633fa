package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// typeOf returns the word by which callers know what kind of thing a file is.
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

// modified returns the time of the last change as callers see it, to the second.
func modified(info fs.FileInfo) time.Time { return info.ModTime().UTC().Truncate(time.Second) }

// regular returns an error unless info is of a regular file.
func regular(name string, info fs.FileInfo) error {
	switch typeOf(info.Mode()) {
	case "file":
		return nil
	case "dir":
		return dispatch.Errorf(dispatch.StateError, "%q is a directory", name)
	case "symlink":
		return dispatch.Errorf(dispatch.StateError, "%q has become a symbolic link meanwhile; try again", name)
	}
	return dispatch.Errorf(dispatch.PermissionDenied, "%q is a device, pipe or socket; only regular files are read and written", name)
}

// open opens name in dir for reading if it is a regular file, following links. It never waits. shown is the path for errors. The
// caller closes the file.
func open(dir *os.Root, name, shown string) (*os.File, fs.FileInfo, error) {
	// Opening a device can act on it, so look first. What took the file's place meanwhile is caught by looking again, and cannot
	// block the open in between, nor become the terminal of this process.
	info, err := dir.Stat(name)
	if err == nil {
		err = regular(shown, info)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := dir.OpenFile(name, readFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = regular(shown, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// reader reads until its context is done.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
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
	if _, err := io.Copy(hash, reader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
