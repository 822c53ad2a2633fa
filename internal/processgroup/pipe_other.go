//go:build !windows

package processgroup

import "os"

// InputPipe opens a pipe to a process's stdin. Writes to ours honour SetWriteDeadline.
func InputPipe() (theirs, ours *os.File, err error) { return os.Pipe() }

// OutputPipe opens a pipe from a process's stdout or stderr. Reads of ours honour SetReadDeadline.
func OutputPipe() (theirs, ours *os.File, err error) {
	ours, theirs, err = os.Pipe()
	return theirs, ours, err
}
