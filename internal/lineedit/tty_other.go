//go:build !linux && !darwin && !windows

package lineedit

import "io"

// A tty is a terminal that is read key by key, which there is none of on this system.
type tty struct{}

func openTTY(io.Reader, io.Writer) *tty { return nil }

func (*tty) raw() error               { return nil }
func (*tty) restore() error           { return nil }
func (*tty) read([]byte) (int, error) { return 0, io.EOF }
func (*tty) size() (int, int, error)  { return 0, 0, nil }
