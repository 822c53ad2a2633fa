package rpc

import (
	"errors"
	"io"
)

// Stream returns r and w as one stream, such as the pipes of a child process. Its Close closes each
// of them that is an [io.Closer]; that must end a blocked Read or Write (see [Options.New]).
// Closing [os.Stdin] does not: use [Stdio] for standard input and output.
func Stream(r io.Reader, w io.Writer) io.ReadWriteCloser { return stream{r, w} }

type stream struct {
	io.Reader
	io.Writer
}

func (s stream) Close() error {
	var errs [2]error
	for i, end := range [...]any{s.Reader, s.Writer} {
		if end, ok := end.(io.Closer); ok {
			errs[i] = end.Close()
		}
	}
	return errors.Join(errs[:]...)
}
