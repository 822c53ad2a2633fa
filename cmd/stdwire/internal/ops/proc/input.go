package proc

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// maxWrite is how many bytes are written at a time. Windows does not say how much of a write that
// was cut short has been read.
const maxWrite = 4 << 10

// An input is the stdin of a process. One at a time writes to it, so that what two callers send does not mix.
type input struct {
	f    *os.File
	turn chan struct{} // full while somebody writes
}

func newInput(f *os.File) input { return input{f, make(chan struct{}, 1)} }

// write blocks until all has been written, and then, if it is the last, closes the input; or until ctx has ended. It returns how many bytes have been
// written.
func (i *input) write(ctx context.Context, data []byte, last bool) (n int, err error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-i.turn }()
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
		i.f.SetWriteDeadline(time.Time{}) // for the next
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ctx.Err()
	case err == nil && last:
		err = i.f.Close()
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		err = dispatch.Errorf(dispatch.StateError, "the input of the process is closed: it was closed before, or the process has ended")
	case err != nil:
		err = dispatch.Errorf(dispatch.StateError, "the process does not read its input any more: it has closed it, or ended")
	}
	return n, err
}
