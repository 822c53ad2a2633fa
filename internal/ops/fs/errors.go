package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// causes says what a failure of the operating system is to the caller. The first that matches counts. The texts are ours, because
// those of package os may hold paths of the host.
var causes = []struct {
	is   error
	code dispatch.Code
	text string
}{
	{fs.ErrNotExist, dispatch.NotFound, "it does not exist"},
	{syscall.ENOTEMPTY, dispatch.StateError, "the directory is not empty"}, // before ErrExist, which it also is
	{fs.ErrExist, dispatch.StateError, "it exists already"},
	{syscall.EROFS, dispatch.PermissionDenied, "the file system is read-only"},
	{fs.ErrPermission, dispatch.PermissionDenied, "the operating system does not permit it"},
	{syscall.ENOTDIR, dispatch.NotFound, "a part of the path is not a directory"},
	{syscall.EISDIR, dispatch.StateError, "it is a directory"},
	{syscall.ELOOP, dispatch.StateError, "the symbolic links lead in a circle"},
	{syscall.ENAMETOOLONG, dispatch.InvalidInput, "the name is too long"},
	{syscall.ENOSPC, dispatch.StateError, "no space is left on the device"},
	{syscall.EDQUOT, dispatch.StateError, "the disk quota is used up"},
	{syscall.EFBIG, dispatch.StateError, "the file would be larger than allowed"},
	{syscall.EXDEV, dispatch.StateError, "source and destination are on different file systems; write a copy and delete the source instead"},
	{syscall.EBUSY, dispatch.StateError, "it is in use"},
	{syscall.ETXTBSY, dispatch.StateError, "it is in use"},
	{syscall.EAGAIN, dispatch.StateError, "it has nothing to read at the moment"},
}

// failures are the codes that the operations return, but for those that any operation may.
var failures = []dispatch.Code{dispatch.NotFound, dispatch.StateError, dispatch.UpstreamError}

// fail says that something ("read", …) cannot be done with name, and why. It passes on nil, errors that are meant for the caller
// already, and those of a context.
func (r *root) fail(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, r.escapes):
		return r.outside(name)
	}
	if _, ok := errors.AsType[*dispatch.Error](err); ok {
		return err
	}
	for _, cause := range causes {
		if errors.Is(err, cause.is) {
			return dispatch.Errorf(cause.code, "cannot %s %q: %s", verb, name, cause.text)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return dispatch.Errorf(dispatch.UpstreamError, "cannot %s %q: %s", verb, name, errno.Error())
	}
	return fmt.Errorf("cannot %s %q: %w", verb, name, err)
}
