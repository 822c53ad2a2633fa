package proc

import (
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

var systemCauses = []cause{
	{syscall.Errno(32), dispatch.StateError},         // ERROR_SHARING_VIOLATION
	{syscall.Errno(87), dispatch.InvalidInput},       // ERROR_INVALID_PARAMETER
	{syscall.Errno(123), dispatch.InvalidInput},      // ERROR_INVALID_NAME
	{syscall.Errno(193), dispatch.InvalidInput},      // ERROR_BAD_EXE_FORMAT
	{syscall.Errno(206), dispatch.InvalidInput},      // ERROR_FILENAME_EXCED_RANGE: arguments too
	{syscall.Errno(216), dispatch.InvalidInput},      // ERROR_EXE_MACHINE_TYPE_MISMATCH
	{syscall.Errno(225), dispatch.PermissionDenied},  // ERROR_VIRUS_INFECTED
	{syscall.Errno(267), dispatch.NotFound},          // ERROR_DIRECTORY
	{syscall.Errno(740), dispatch.PermissionDenied},  // ERROR_ELEVATION_REQUIRED
	{syscall.Errno(1260), dispatch.PermissionDenied}, // ERROR_ACCESS_DISABLED_BY_POLICY
}
