// Package buffer pools the memory of messages.
//
// Small buffers are in one pool. They have whatever capacity they have grown to, up to [Small].
// Larger ones are in a pool for each capacity, so that a message of 70 KiB does not keep memory
// that one of 7 MiB has grown. The capacities are four for each power of two, so at most a quarter
// of a buffer is unused. Buffers of more than 8 MiB are not pooled.
package buffer

import (
	"math/bits"
	"slices"
	"sync"
)

// Small is the largest capacity of small buffers in bytes.
const Small = 64 << 10

const (
	smallShift = 14 // 4 << smallShift is Small
	pools      = 28 // up to 8 MiB
)

// A Buffer is a slice in pooled memory. Append to B as to any slice.
type Buffer struct{ B []byte }

var (
	smallBuffers = sync.Pool{New: func() any { return new(Buffer) }}
	largeBuffers [pools]sync.Pool
)

// Get returns an empty buffer. If size is more than [Small], its capacity is Capacity(size).
// Otherwise its capacity is at most Small, and perhaps 0.
func Get(size int) *Buffer {
	if size <= Small {
		return smallBuffers.Get().(*Buffer)
	}
	pool, capacity := class(size)
	if pool < pools {
		if b, ok := largeBuffers[pool].Get().(*Buffer); ok {
			return b
		}
	}
	return &Buffer{make([]byte, 0, capacity)}
}

// Capacity returns the capacity of a buffer for size bytes, which must be more than [Small].
func Capacity(size int) int {
	_, capacity := class(size)
	return capacity
}

// Grow makes room for n more bytes. The capacity is then as that of Get.
func (b *Buffer) Grow(n int) {
	switch size := len(b.B) + n; {
	case size <= cap(b.B):
	case size <= Small:
		b.B = slices.Grow(b.B, n)
	default:
		old := b.Take()
		b.B = append(Get(size).B, old.B...)
		old.Free()
	}
}

// class returns the capacity for size bytes, which must be more than Small, and the index of its
// pool. There is no pool with that index if the capacity is too large.
func class(size int) (pool, capacity int) {
	shift := bits.Len(uint(size-1)) - 3
	quarters := (size-1)>>shift + 1 // 5 to 8
	pool, capacity = (shift-smallShift)*4+quarters-5, quarters<<shift
	if pool >= pools {
		return pools, size
	}
	return pool, capacity
}

// Free returns the memory to its pool. Neither b nor its memory may be used afterwards. A nil
// Buffer has no memory.
func (b *Buffer) Free() {
	if b == nil || b.B == nil {
		return
	}
	capacity := cap(b.B)
	b.B = b.B[:0]
	if capacity <= Small {
		smallBuffers.Put(b)
		return
	}
	// Memory that has grown by append usually has none of the capacities.
	if pool, want := class(capacity); pool < pools && capacity == want {
		largeBuffers[pool].Put(b)
	}
}

// Take moves the memory of b to a new buffer. Afterwards b is empty, and freeing it has no effect.
func (b *Buffer) Take() *Buffer {
	taken := &Buffer{b.B}
	b.B = nil
	return taken
}

// Bytes returns b.B, or nil if b is nil.
func (b *Buffer) Bytes() []byte {
	if b == nil {
		return nil
	}
	return b.B
}
