//go:build !linux && !darwin && !windows

package lineedit

import (
	"io"
	"os"
)

// A tty is a terminal that is read key by key, which there is none of on this system.
type tty struct{ out *os.File }

func openTTY(_, _ *os.File) *tty { return nil }

func (*tty) raw() error               { return nil }
func (*tty) restore() error           { return nil }
func (*tty) read([]byte) (int, error) { return 0, io.EOF }
