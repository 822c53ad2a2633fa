//go:build !linux && !windows

package terminal

import "os"

// Discard throws away what was typed at a terminal and nobody has read yet, so that it cannot be
// the answer to a question that was not there when it was typed. It does nothing on systems other
// than Linux and Windows, and to files that are no terminals.
func Discard(*os.File) {}
