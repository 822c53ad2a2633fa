// Package terminal tells whether a person is at the other end of a standard stream and how wide the screen is, and forgets what was typed too early.
package terminal

import "os"

// Is reports whether a file is a terminal: a character device, but for the one that is common in its place, /dev/null.
func Is(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
