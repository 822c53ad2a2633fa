package child

import (
	"os"
	"sync"
	"time"
)

// input is the write end of the child's stdin. It hides the file, because its Fd method would turn
// deadlines off, and makes Close idempotent.
type input struct {
	f    *os.File
	once sync.Once
	err  error
}

func (i *input) Write(b []byte) (int, error) { return i.f.Write(b) }

func (i *input) SetWriteDeadline(t time.Time) error { return i.f.SetWriteDeadline(t) }

func (i *input) Close() error {
	i.once.Do(func() { i.err = i.f.Close() })
	return i.err
}
