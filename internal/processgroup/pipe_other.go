//go:build !windows

package processgroup

import "os"

// InputPipe is a pipe to write to; r is for a process that is to be started.
func InputPipe() (r, w *os.File, err error) { return os.Pipe() }

// OutputPipe is a pipe to read from; w is for a process that is to be started.
func OutputPipe() (r, w *os.File, err error) { return os.Pipe() }
