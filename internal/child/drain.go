package child

import (
	"errors"
	"os"
	"time"
)

// How long, and for how much, a pipe is still read whose writer has exited
// but which somebody else holds open.
const (
	drainQuiet = 250 * time.Millisecond // without data
	drainTime  = 2 * time.Second        // in all
	drainBytes = 1 << 20                // in all; a pipe holds at most that, by default 64 KiB

	readSize = 8 << 10 // on the stack of a goroutine that every child has
)

// drain reads f to its end, or to one of the limits above, and passes what it read to sink. It reports whether it was a limit: then somebody holds f open.
func drain(f *os.File, sink func([]byte)) (held bool) {
	buf := make([]byte, readSize)
	end := time.Now().Add(drainTime)
	for total := 0; total < drainBytes && time.Now().Before(end); {
		f.SetReadDeadline(time.Now().Add(drainQuiet))
		n, err := f.Read(buf)
		sink(buf[:n])
		if err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		total += n
	}
	return true
}

// interrupt makes reads of f that are in progress end with
// [os.ErrDeadlineExceeded]. Where pipes have no deadlines, f is closed after a
// while instead, unless the function returned is called before.
func interrupt(f *os.File) (cancel func()) {
	if f.SetReadDeadline(time.Unix(1, 0)) == nil {
		return func() {}
	}
	timer := time.AfterFunc(drainTime, func() { f.Close() })
	return func() { timer.Stop() }
}
