package child

import (
	"errors"
	"os"
	"time"
)

// Limits of reading a pipe whose writer has exited but which another process holds open.
const (
	drainQuiet = 250 * time.Millisecond // without data
	drainTime  = 2 * time.Second        // in all
	drainBytes = 1 << 20                // in all; the most that a pipe holds (64 KiB by default)

	readSize = 8 << 10
)

// drain reads f to its end or to one of the limits above, and passes the data to sink. It reports
// whether it met a limit, which means that another process holds f open.
//
// Read does not look at the pipe when its deadline has passed already, as it may have if this whole
// process had to pause in between. So the quiet time is waited for in parts.
func drain(f *os.File, sink func([]byte)) (held bool) {
	const parts = 5
	buf := make([]byte, readSize)
	end := time.Now().Add(drainTime)
	for total, quiet := 0, 0; total < drainBytes && quiet < parts && time.Now().Before(end); {
		f.SetReadDeadline(time.Now().Add(drainQuiet / parts))
		n, err := f.Read(buf)
		sink(buf[:n])
		switch total += n; {
		case errors.Is(err, os.ErrDeadlineExceeded):
			quiet++
		case err != nil:
			return false
		default:
			quiet = 0
		}
	}
	return true
}

// interrupt ends reads of f that are in progress, with [os.ErrDeadlineExceeded]. If f has no
// deadlines, interrupt closes it after drainTime instead, unless cancel is called before.
func interrupt(f *os.File) (cancel func()) {
	if f.SetReadDeadline(time.Unix(1, 0)) == nil {
		return func() {}
	}
	timer := time.AfterFunc(drainTime, func() { f.Close() })
	return func() { timer.Stop() }
}
