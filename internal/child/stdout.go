package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// output is the read end of the child's stdout. While the child runs, Read reads the pipe. After
// the exit, drain interrupts Read, copies the rest of the pipe into memory and closes it; from then
// on Read reads the copy. So a slow reader loses nothing, and no reader waits for a grandchild that
// holds the pipe open.
type output struct {
	f       *os.File
	closed  atomic.Bool
	drained chan struct{} // closed when rest is complete

	reading sync.Mutex // held while f or rest is read
	rest    []byte     // valid once drained is closed

	deadline sync.Mutex // guards draining and f's deadline
	draining bool       // drain has begun: f and its deadline are no longer the caller's
}

func newOutput(f *os.File) *output {
	return &output{f: f, drained: make(chan struct{})}
}

func (o *output) Read(b []byte) (int, error) {
	o.reading.Lock()
	select {
	case <-o.drained:
	default:
		n, err := o.f.Read(b)
		o.reading.Unlock()
		if n > 0 || err == nil || !o.isDraining() {
			return n, err
		}
		<-o.drained
		o.reading.Lock()
	}
	defer o.reading.Unlock()
	if o.closed.Load() {
		return 0, os.ErrClosed
	}
	if len(o.rest) == 0 {
		o.rest = nil
		return 0, io.EOF
	}
	n := copy(b, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

func (o *output) SetReadDeadline(t time.Time) error {
	o.deadline.Lock()
	defer o.deadline.Unlock()
	if o.draining {
		return nil
	}
	return o.f.SetReadDeadline(t)
}

func (o *output) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	err := o.f.Close() // without the lock: Close unblocks a Read that holds it
	if errors.Is(err, os.ErrClosed) {
		return nil // drain closed it
	}
	return err
}

func (o *output) isDraining() bool {
	o.deadline.Lock()
	defer o.deadline.Unlock()
	return o.draining
}

// drain interrupts reads in progress and reads the rest of the pipe; see the function drain.
func (o *output) drain() (held bool) {
	o.deadline.Lock()
	o.draining = true
	cancel := interrupt(o.f)
	o.deadline.Unlock()
	defer cancel()

	o.reading.Lock()
	defer o.reading.Unlock()
	held = drain(o.f, func(b []byte) { o.rest = append(o.rest, b...) })
	o.f.Close()
	close(o.drained)
	return held
}
