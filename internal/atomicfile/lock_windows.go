package atomicfile

import (
	"os"
	"syscall"
)

// lockFile opens a file without sharing it until it is closed. The result is nil while another
// process has it open.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const unshared, sharingViolation = 0, syscall.Errno(32)
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, unshared, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch err {
	case nil:
		return os.NewFile(uintptr(h), path), nil
	case sharingViolation:
		return nil, nil
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}
