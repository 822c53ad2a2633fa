//go:build !windows

package processgroup

import "os"

// openPipe opens a pipe to a process's stdin, or from its stdout or stderr. Reads and writes of
// ours honour deadlines.
func openPipe(toProcess bool) (theirs, ours *os.File, err error) {
	r, w, err := os.Pipe()
	if toProcess {
		return r, w, err
	}
	return w, r, err
}
