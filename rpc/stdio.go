package rpc

import "io"

// Stdio returns standard input and output as one stream whose Close ends a blocked Read. [os.Stdin]
// itself does not do that if it is a pipe or a terminal.
//
// Stdio takes both over for the life of the process and must be called at most once. On Linux, what
// the program or a child process prints to standard output afterwards goes to standard error, so it
// cannot break the protocol, whether standard output is a pipe, a terminal, a socket or a file.
// Elsewhere it goes into the protocol, and Close closes [os.Stdout].
//
// On Linux and Windows, Close also ends a blocked Write; elsewhere, a blocked Write ends only when
// the other side reads. On systems other than these and macOS, a goroutine reads standard input and
// stays behind when the stream is closed.
func Stdio() io.ReadWriteCloser {
	in, out := takeStdio()
	return Stream(in, out)
}
