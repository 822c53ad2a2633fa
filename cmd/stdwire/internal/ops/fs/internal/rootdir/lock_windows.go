package rootdir

import (
	"path/filepath"
	"strings"
	"syscall"
)

// longName replaces the short names (PROGRA~1) in a path, as far as it exists, by the long ones.
func longName(name string) string {
	if !strings.Contains(name, "~") {
		return name
	}
	if long, err := fullName(name); err == nil {
		return long
	}
	dir := filepath.Dir(name)
	if dir == name {
		return name
	}
	return filepath.Join(longName(dir), filepath.Base(name))
}

// fullName calls GetLongPathName.
func fullName(name string) (string, error) {
	short, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return "", err
	}
	long := make([]uint16, syscall.MAX_PATH)
	for {
		n, err := syscall.GetLongPathName(short, &long[0], uint32(len(long)))
		if err != nil {
			return "", err
		}
		if int(n) <= len(long) {
			return syscall.UTF16ToString(long[:n]), nil
		}
		long = make([]uint16, n)
	}
}
