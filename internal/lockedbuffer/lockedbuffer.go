// Package lockedbuffer has a buffer for tests of what is logged or printed.
package lockedbuffer

import (
	"bytes"
	"sync"
)

// A Buffer is an [io.Writer] that keeps what is written. The zero value is empty. Its methods are
// safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written since the last call of [Buffer.Take].
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Take returns what String returns, and empties the buffer.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}
