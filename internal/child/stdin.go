package child

import (
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
	written atomic.Int64 // bytes
	// set by Close: the child had read nothing, as far as the system says that
	unread bool
}

func (i *input) Write(b []byte) (int, error) {
	n, err := i.f.Write(b)
	i.written.Add(int64(n))
	return n, err
}

func (i *input) SetWriteDeadline(t time.Time) error { return i.f.SetWriteDeadline(t) }

func (i *input) Close() error {
	i.once.Do(func() {
		n, ok := unread(i.f)
		i.unread = ok && int64(n) >= i.written.Load()
		i.err = i.f.Close()
	})
	return i.err
}
