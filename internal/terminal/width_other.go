//go:build !linux && !darwin

package terminal

import "os"

// Width is how many characters a line of a terminal has; 0 if that is not known, which it is not on this system.
func Width(*os.File) int { return 0 }
