//go:build !linux && !darwin && !windows

package lineedit

import (
	"io"
	"os"
)

// A tty is a terminal in raw mode, which this system does not support.
type tty struct{ out *os.File }

func openTTY(_, _ *os.File) *tty { return nil }

func (*tty) raw() error               { return nil }
func (*tty) restore() error           { return nil }
func (*tty) read([]byte) (int, error) { return 0, io.EOF }
