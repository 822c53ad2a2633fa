package rootdir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// Error numbers of Windows that package syscall lacks.
const (
	errorNotSameDevice      = syscall.Errno(17)
	errorWriteProtect       = syscall.Errno(19)
	errorSharingViolation   = syscall.Errno(32)
	errorLockViolation      = syscall.Errno(33)
	errorHandleDiskFull     = syscall.Errno(39)
	errorDiskFull           = syscall.Errno(112)
	errorInvalidName        = syscall.Errno(123)
	errorBadPathname        = syscall.Errno(161)
	errorBusy               = syscall.Errno(170)
	errorFilenameExcedRange = syscall.Errno(206)
	errorFileTooLarge       = syscall.Errno(223)
	errorDeletePending      = syscall.Errno(303)
	errorDiskQuotaExceeded  = syscall.Errno(1295)
	errorCantResolveName    = syscall.Errno(1921)
)

// ErrNotEmpty is the error of removing a directory that is not empty.
const ErrNotEmpty = syscall.ERROR_DIR_NOT_EMPTY

// errNotDirectory is the error of using a file as a directory.
var errNotDirectory = errors.New("not a directory")

// systemCauses are causes that only Windows has.
var systemCauses = []cause{
	{errNotDirectory, dispatch.NotFound, notDirectory},
	{ErrNotEmpty, dispatch.StateError, notEmpty},
	{errorWriteProtect, dispatch.PermissionDenied, readOnly},
	{syscall.ERROR_ACCESS_DENIED, dispatch.PermissionDenied,
		"the operating system does not permit it, or another program has it open"},
	{errorSharingViolation, dispatch.StateError, inUse},
	{errorLockViolation, dispatch.StateError, inUse},
	{errorBusy, dispatch.StateError, inUse},
	{errorDeletePending, dispatch.StateError, inUse},
	{errorNotSameDevice, dispatch.StateError, otherDevice},
	{errorDiskFull, dispatch.StateError, noSpace},
	{errorHandleDiskFull, dispatch.StateError, noSpace},
	{errorDiskQuotaExceeded, dispatch.StateError, noQuota},
	{errorFileTooLarge, dispatch.StateError, tooLarge},
	{errorInvalidName, dispatch.InvalidInput, "Windows does not allow the name"},
	{errorBadPathname, dispatch.InvalidInput, "Windows does not allow the name"},
	{errorFilenameExcedRange, dispatch.InvalidInput, tooLong},
	{syscall.ERROR_BUFFER_OVERFLOW, dispatch.InvalidInput, tooLong},
	{errorCantResolveName, dispatch.StateError, linkLoop},
}

// MissingError returns the error for a missing name. Windows reports the same error if a parent
// directory is missing and if it is a file, so missingError checks the parents.
func MissingError(dir *os.Root, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		if info, statErr := dir.Stat(name); statErr == nil {
			if !info.IsDir() {
				return errNotDirectory
			}
			break
		}
	}
	return err
}
