package rpc

import (
	"math/bits"
	"sync"
)

const (
	smallBuffer = 64 << 10 // the largest capacity in the pool for messages of any size
	// the largest buffer that a connection keeps: one to read into, two to write
	maxKeptBuffer = 4 << 20
)

// A buffer is a pooled byte slice.
type buffer struct{ b []byte }

var (
	smallBuffers = sync.Pool{New: func() any { return new(buffer) }}
	// buffers of 64 to 128 KiB, of 128 to 256 KiB and so on, up to 8 MiB
	largeBuffers [7]sync.Pool
)

// bufferClass returns the index in largeBuffers of a capacity; -1 if it is small.
func bufferClass(capacity int) int { return bits.Len(uint(capacity)/smallBuffer) - 1 }

func newBuffer() *buffer { return smallBuffers.Get().(*buffer) }

// newBufferFor returns an empty buffer for size bytes. It takes at most twice the memory.
func newBufferFor(size int) *buffer {
	class := bufferClass(size)
	switch {
	case class < 0:
		return newBuffer()
	case class < len(largeBuffers):
		if b, ok := largeBuffers[class].Get().(*buffer); ok && cap(b.b) >= size {
			return b
		}
	}
	return &buffer{make([]byte, 0, size+size/8)} // for a similar message later
}

// free makes the buffer available for other messages. Its memory must not be used afterwards.
func (b *buffer) free() {
	if b == nil {
		return
	}
	class := bufferClass(cap(b.b))
	if class >= len(largeBuffers) {
		return
	}
	b.b = b.b[:0]
	if class < 0 {
		smallBuffers.Put(b)
	} else {
		largeBuffers[class].Put(b)
	}
}

func (b *buffer) bytes() []byte {
	if b == nil {
		return nil
	}
	return b.b
}
