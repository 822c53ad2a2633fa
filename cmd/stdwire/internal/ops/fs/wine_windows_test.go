package fs

import "syscall"

// underWine reports whether the tests run under Wine.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
