//go:build !linux

package child

import "os"

// stderrRead is how much of stderr is read at once.
const stderrRead = readSize

// unread fails: this system does not say what was read from a pipe. See unread_linux.go.
func unread(*os.File) (n int, ok bool) { return 0, false }
