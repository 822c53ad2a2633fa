package fs

import (
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// storedName returns the name that a file has in its directory. It may be asked for in another
// case, or by its short name, and what replaced it by that name would be called so.
func (r *root) storedName(dir *os.Root, name string) string {
	base := path.Base(name)
	pattern, err := syscall.UTF16PtrFromString(filepath.Join(r.host, filepath.FromSlash(name)))
	if err != nil {
		return base
	}
	var found syscall.Win32finddata
	search, err := syscall.FindFirstFile(pattern, &found)
	if err != nil {
		return base
	}
	_ = syscall.FindClose(search)
	stored := syscall.UTF16ToString(found.FileName[:])
	// The path may lead elsewhere by now, dir does not.
	asked, err := dir.Lstat(base)
	if err != nil {
		return base
	}
	if info, err := dir.Lstat(stored); err != nil || !os.SameFile(asked, info) {
		return base
	}
	return stored
}
