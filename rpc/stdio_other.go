//go:build !linux && !darwin && !windows

package rpc

import (
	"io"
	"os"
)

// takeStdio returns standard input and output. On most systems, closing standard input does not end
// a blocked Read. So a goroutine reads it, and stays behind when the stream is closed.
func takeStdio() (io.ReadCloser, io.WriteCloser) {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, os.Stdin)
		w.CloseWithError(err)
	}()
	return r, os.Stdout
}
