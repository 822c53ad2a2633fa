package rootdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// Texts of causes that several systems share.
const (
	notEmpty     = "the directory is not empty"
	notDirectory = "a part of the path is not a directory"
	readOnly     = "the file system is read-only"
	linkLoop     = "the symbolic links lead in a circle"
	tooLong      = "the name is too long"
	tooLarge     = "the file would be larger than allowed"
	noSpace      = "no space is left on the device"
	noQuota      = "the disk quota is used up"
	otherDevice  = "source and destination are on different file systems; " +
		"write a copy and delete the source instead"
	inUse = "it is in use"
)

// A cause maps an error of the operating system to a code and a text for the caller. The texts of
// package os may contain paths of the host.
type cause struct {
	is   error
	code dispatch.Code
	text string
}

// causes lists the known causes, in addition to systemCauses, which come first. The first match
// counts.
var causes = []cause{
	{fs.ErrNotExist, dispatch.NotFound, "it does not exist"},
	{syscall.ENOTEMPTY, dispatch.StateError, notEmpty}, // before ErrExist, which it matches too
	{fs.ErrExist, dispatch.StateError, "it exists already"},
	{syscall.EROFS, dispatch.PermissionDenied, readOnly},
	{fs.ErrPermission, dispatch.PermissionDenied, "the operating system does not permit it"},
	{syscall.ENOTDIR, dispatch.NotFound, notDirectory},
	{syscall.EISDIR, dispatch.StateError, "it is a directory"},
	{syscall.ELOOP, dispatch.StateError, linkLoop},
	{syscall.ENAMETOOLONG, dispatch.InvalidInput, tooLong},
	{syscall.ENOSPC, dispatch.StateError, noSpace},
	{syscall.EDQUOT, dispatch.StateError, noQuota},
	{syscall.EFBIG, dispatch.StateError, tooLarge},
	{syscall.EXDEV, dispatch.StateError, otherDevice},
	{syscall.EBUSY, dispatch.StateError, inUse},
	{syscall.ETXTBSY, dispatch.StateError, inUse},
	{syscall.EAGAIN, dispatch.StateError, "it has nothing to read at the moment"},
}

// ErrorCodes are the codes that the operations declare.
var ErrorCodes = []dispatch.Code{dispatch.NotFound, dispatch.StateError, dispatch.UpstreamError}

// Fail returns the error for an operation ("read", …) on name that failed with err. It returns nil,
// dispatch errors and context errors unchanged.
func (r *Root) Fail(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, r.errEscapes):
		return r.outside(name)
	}
	if _, ok := errors.AsType[*dispatch.Error](err); ok {
		return err
	}
	err = MissingError(r.Dir, name, err)
	for _, cause := range slices.Concat(systemCauses, causes) {
		if errors.Is(err, cause.is) {
			return dispatch.Errorf(cause.code, "cannot %s %q: %s", verb, name, cause.text)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return dispatch.Errorf(dispatch.UpstreamError, "cannot %s %q: %s", verb, name,
			errno.Error())
	}
	return fmt.Errorf("cannot %s %q: %w", verb, name, err)
}
