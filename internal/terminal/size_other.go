//go:build !linux && !darwin && !windows

package terminal

import (
	"errors"
	"os"
)

// Size is how many columns and rows a terminal has, which is not known on this system.
func Size(*os.File) (columns, rows int, err error) { return 0, 0, errors.ErrUnsupported }
