//go:build !linux

package rpc

import (
	"io"
	"os"
)

// takeStdio returns standard input and output. A Read that blocks does not end when the input is closed, on most systems, so a goroutine does the reading
// that may be left behind when the process is about to end.
func takeStdio() (io.ReadCloser, io.WriteCloser) {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, os.Stdin)
		w.CloseWithError(err)
	}()
	return r, os.Stdout
}
