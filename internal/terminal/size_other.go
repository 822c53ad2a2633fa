//go:build !linux && !darwin && !windows

package terminal

import (
	"errors"
	"os"
)

// Size fails: this system offers no way to get the size of a terminal.
func Size(*os.File) (columns, rows int, err error) { return 0, 0, errors.ErrUnsupported }
