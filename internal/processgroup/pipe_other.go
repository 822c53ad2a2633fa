//go:build !windows

package processgroup

import "os"

// inputPipe opens a pipe to a process's stdin. Writes to ours honour SetWriteDeadline.
func inputPipe() (theirs, ours *os.File, err error) { return os.Pipe() }

// outputPipe opens a pipe from a process's stdout or stderr. Reads of ours honour SetReadDeadline.
func outputPipe() (theirs, ours *os.File, err error) {
	ours, theirs, err = os.Pipe()
	return theirs, ours, err
}
