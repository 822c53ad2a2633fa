package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Permissions reports whether the permissions of files keep other users out.
const Permissions = false

// inUse reports whether the cause of an error may be that the file is open.
func inUse(err error) bool {
	const sharingViolation = syscall.Errno(32)
	return errors.Is(err, sharingViolation) || errors.Is(err, syscall.ERROR_ACCESS_DENIED)
}

// open is [os.Open] with FILE_SHARE_DELETE. It opens directories too.
func open(path string) (*os.File, error) {
	return create(path, syscall.GENERIC_READ, syscall.OPEN_EXISTING,
		syscall.FILE_ATTRIBUTE_NORMAL|syscall.FILE_FLAG_BACKUP_SEMANTICS)
}

// openAppend opens a file with the rights that os.OpenFile asks for with O_APPEND: each write goes
// to the end of the file. Windows ignores the permissions.
func openAppend(path string, _ fs.FileMode) (*os.File, error) {
	const readAttributes = 0x80
	return create(path, syscall.FILE_APPEND_DATA|syscall.SYNCHRONIZE|readAttributes,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL)
}

func create(path string, access, disposition, flags uint32) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	const share = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(name, access, share, nil, disposition, flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// move does not replace a file, unlike [os.Rename].
func move(from, to string) error {
	a, err := syscall.UTF16PtrFromString(from)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	b, err := syscall.UTF16PtrFromString(to)
	if err == nil {
		err = syscall.MoveFile(a, b)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
