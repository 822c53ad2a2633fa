// Package terminal tells whether a person is at the other end of a standard stream, how large the
// screen is and whether it obeys escape sequences, and forgets what was typed too early.
package terminal

import "os"

// EnableEscapes reports whether a file is a terminal that obeys escape sequences. On Windows it has
// the console do so, which no console before Windows 10 can, and leaves it so: the mode is that of
// all programs that write to the console, and cmd.exe and PowerShell set their own again before
// they prompt. Elsewhere every terminal obeys. None does if TERM is dumb.
func EnableEscapes(f *os.File) bool {
	return os.Getenv("TERM") != "dumb" && enableEscapes(f)
}
