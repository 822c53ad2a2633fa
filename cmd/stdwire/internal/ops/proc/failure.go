package proc

import (
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/dispatch"
)

// A cause maps an error that prevents a program from starting to a code.
type cause struct {
	err  error
	code dispatch.Code
}

// startCauses lists the causes of all systems, and systemCauses those of this system. The first
// match counts.
var startCauses = []cause{
	{exec.ErrNotFound, dispatch.NotFound},
	{exec.ErrDot, dispatch.NotFound},
	{fs.ErrNotExist, dispatch.NotFound},
	{syscall.ENOTDIR, dispatch.NotFound},
	{fs.ErrPermission, dispatch.PermissionDenied},
	{syscall.EISDIR, dispatch.PermissionDenied},
	{syscall.EINVAL, dispatch.InvalidInput}, // a NUL byte
	{syscall.E2BIG, dispatch.InvalidInput},
	{syscall.ENAMETOOLONG, dispatch.InvalidInput},
	{syscall.ELOOP, dispatch.InvalidInput},
	{syscall.ENOEXEC, dispatch.InvalidInput},
	{syscall.ETXTBSY, dispatch.StateError},
}

// startError converts an error of guard.Start to one for the caller.
func startError(err error) error {
	failure, ok := errors.AsType[*guard.StartError](err)
	if !ok {
		return err // nil, or the error of a context
	}
	for _, cause := range slices.Concat(startCauses, systemCauses) {
		if errors.Is(err, cause.err) {
			return dispatch.Errorf(cause.code, "%w", failure)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok { // such as no more processes or files
		return dispatch.Errorf(dispatch.UpstreamError, "cannot start %q: %w", failure.Name, errno)
	}
	return err
}
