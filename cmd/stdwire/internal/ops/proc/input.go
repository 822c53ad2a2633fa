package proc

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// maxWrite is the maximum size of a write in bytes. Windows does not report how much of an
// interrupted write has been read.
const maxWrite = 4 << 10

// An input is the stdin of a process. It allows one writer at a time, so that data of two callers
// is not mixed.
type input struct {
	f    *os.File
	lock chan struct{} // of capacity 1; full during a write
}

func newInput(f *os.File) input { return input{f, make(chan struct{}, 1)} }

// write writes data, and then closes the input if eof is set. It blocks until data is written or
// ctx ends, and returns the number of bytes written.
func (i *input) write(ctx context.Context, data []byte, eof bool) (n int, err error) {
	select {
	case i.lock <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-i.lock }()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		i.f.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	for n < len(data) && err == nil {
		var written int
		written, err = i.f.Write(data[n:min(n+maxWrite, len(data))])
		n += written
	}
	if !stop() {
		<-interrupted
		i.f.SetWriteDeadline(time.Time{}) // for the next write
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ctx.Err()
	case err == nil && eof:
		err = i.f.Close()
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		err = dispatch.Errorf(dispatch.StateError,
			"the input of the process is closed: it was closed before, or the process has ended")
	case err != nil:
		err = dispatch.Errorf(dispatch.StateError,
			"the process has closed its input or has ended")
	}
	return n, err
}
