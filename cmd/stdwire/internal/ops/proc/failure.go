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

// A cause says what a failure to start a program is to the caller.
type cause struct {
	is   error
	code dispatch.Code
}

// causes are those of all systems; systemCauses, of this one. The first that matches counts.
var causes = []cause{
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

// explain makes an error for the caller of one that guard.Start returned.
func explain(err error) error {
	failure, ok := errors.AsType[*guard.StartError](err)
	if !ok {
		return err // nil, or that of a context
	}
	for _, cause := range slices.Concat(causes, systemCauses) {
		if errors.Is(err, cause.is) {
			return dispatch.Errorf(cause.code, "%w", failure)
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok { // no processes or files to be had
		return dispatch.Errorf(dispatch.UpstreamError, "cannot start %q: %w", failure.Name, errno)
	}
	return err
}
