package child

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// input is the write end of the child's stdin. It hides the file, because its Fd method would turn
// deadlines off, and makes Close idempotent.
type input struct {
	f       *os.File
	once    sync.Once
	err     error
	closing atomic.Bool
	mu      sync.Mutex // held during a Write
	written int64      // bytes
	// set by Close: the child had read nothing, as far as the system says that
	unread bool
}

func (i *input) Write(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n, err := i.f.Write(b)
	i.written += int64(n)
	if i.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = os.ErrClosed
	}
	return n, err
}

func (i *input) SetWriteDeadline(t time.Time) error { return i.f.SetWriteDeadline(t) }

func (i *input) Close() error {
	i.once.Do(func() {
		i.closing.Store(true)
		if i.f.SetWriteDeadline(time.Unix(1, 0)) == nil { // a Write ends now, and is counted
			i.mu.Lock()
			n, ok := unread(i.f)
			i.unread = ok && int64(n) >= i.written
			i.mu.Unlock()
		}
		i.err = i.f.Close()
	})
	return i.err
}
