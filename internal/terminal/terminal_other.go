//go:build !windows

package terminal

import "os"

// Is reports whether a file is a terminal: a character device other than /dev/null.
func Is(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func enableEscapes(f *os.File) bool { return Is(f) }
