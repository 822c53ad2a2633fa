package child

import (
	"errors"
	"os"
	"time"

	"github.com/stdwire/stdwire/internal/timeout"
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
	buf := make([]byte, readSize)
	end := time.Now().Add(drainTime)
	for total := 0; total < drainBytes && time.Now().Before(end); {
		var n int
		var err error
		if !timeout.InParts(drainQuiet, func(part time.Duration) bool {
			f.SetReadDeadline(time.Now().Add(part))
			n, err = f.Read(buf)
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}) {
			return true
		}
		sink(buf[:n])
		if err != nil {
			return false
		}
		total += n
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
