//go:build !linux && !windows

package terminal

import "os"

// Discard drops input that was typed at a terminal and not read yet, so that it cannot answer a
// question that was printed later. It does nothing on systems other than Linux and Windows, and for
// files that are not terminals.
func Discard(*os.File) {}
