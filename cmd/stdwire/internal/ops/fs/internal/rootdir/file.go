package rootdir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/userfile"
)

// TypeOf returns the type of a file in results.
func TypeOf(mode fs.FileMode) string {
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

// ModTime returns the modification time in results, truncated to seconds.
func ModTime(info fs.FileInfo) time.Time { return info.ModTime().UTC().Truncate(time.Second) }

// CheckRegular returns an error unless mode is that of a regular file.
func CheckRegular(name string, mode fs.FileMode) error {
	switch TypeOf(mode) {
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

// OpenFile opens a regular file for reading. It follows links and does not block. shown is the path
// for errors. The caller closes the file.
func OpenFile(dir *os.Root, name, shown string) (*os.File, fs.FileInfo, error) {
	f, info, err := userfile.OpenIn(dir, name)
	if e, ok := errors.AsType[*userfile.NotRegularError](err); ok {
		err = CheckRegular(shown, e.Mode)
	}
	return f, info, err
}

// WithContext returns a reader of r that fails once ctx is done.
func WithContext(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

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
