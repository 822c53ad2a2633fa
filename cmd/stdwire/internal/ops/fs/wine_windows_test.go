package fs

import "syscall"

// underWine reports whether Wine runs the tests, and not Windows.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
