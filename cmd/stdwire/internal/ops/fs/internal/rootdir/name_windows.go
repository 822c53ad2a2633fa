package rootdir

import (
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// StoredName returns the name of a file in its directory. name may differ in case, or be a short
// name; a file that replaced it under that name would get it.
func (r *Root) StoredName(dir *os.Root, name string) string {
	base := path.Base(name)
	pattern, err := syscall.UTF16PtrFromString(filepath.Join(r.host, filepath.FromSlash(name)))
	if err != nil {
		return base
	}
	var data syscall.Win32finddata
	search, err := syscall.FindFirstFile(pattern, &data)
	if err != nil {
		return base
	}
	_ = syscall.FindClose(search)
	stored := syscall.UTF16ToString(data.FileName[:])
	// The path may have changed meanwhile; dir has not.
	asked, err := dir.Lstat(base)
	if err != nil {
		return base
	}
	if info, err := dir.Lstat(stored); err != nil || !os.SameFile(asked, info) {
		return base
	}
	return stored
}
