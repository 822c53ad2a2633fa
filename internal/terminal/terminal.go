// Package terminal reports whether a standard stream is a terminal, its size, and whether it obeys
// escape sequences. It also discards input typed too early and shows a status on the last line.
package terminal

import "os"

// EnableEscapes reports whether a file is a terminal that obeys escape sequences. It is false if
// TERM is dumb. On Windows it switches the console to that mode, which exists since Windows 10, and
// does not switch back: all programs that write to the console share the mode, and cmd.exe and
// PowerShell set their own again before they prompt. On other systems every terminal obeys.
func EnableEscapes(f *os.File) bool {
	return os.Getenv("TERM") != "dumb" && enableEscapes(f)
}
