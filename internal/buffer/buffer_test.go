package buffer

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestCapacity(t *testing.T) {
	for _, test := range []struct{ size, pool, capacity int }{
		{Small + 1, 0, 80 << 10},
		{80 << 10, 0, 80 << 10},
		{80<<10 + 1, 1, 96 << 10},
		{128 << 10, 3, 128 << 10},
		{128<<10 + 1, 4, 160 << 10},
		{1<<20 + 300, 16, 1280 << 10},
		{8 << 20, 27, 8 << 20},
		{8<<20 + 1, pools, 8<<20 + 1},
		{100 << 20, pools, 100 << 20},
	} {
		pool, capacity := class(test.size)
		assert.Equal(t, pool, test.pool, "%d", test.size)
		assert.Equal(t, capacity, test.capacity, "%d", test.size)
		assert.Equal(t, Capacity(test.size), capacity)
	}
	for size := Small + 1; size <= 9<<20; size += 999 {
		c := Capacity(size)
		assert.Assert(t, c >= size && c <= size+size/4, "%d: %d", size, c)
		assert.Equal(t, Capacity(c), c)
	}
}

// Get returns what it says, whatever was freed before.
func TestGet(t *testing.T) {
	for size := range 100 {
		size *= 3000
		b := Get(size)
		assert.Equal(t, len(b.B), 0)
		if size <= Small {
			assert.Assert(t, cap(b.B) <= Small)
		} else {
			assert.Equal(t, cap(b.B), Capacity(size))
		}
		b.B = append(b.B, make([]byte, size+1)...) // grows unless there is room
		b.Free()
	}
}

func TestGrow(t *testing.T) {
	b := Get(0)
	for size := 1; size < 10<<20; size *= 3 {
		b.Grow(size - len(b.B))
		assert.Assert(t, cap(b.B) >= size)
		if size > Small {
			assert.Equal(t, cap(b.B), Capacity(size))
		}
		b.B = append(b.B, byte(size))
	}
	for i, size := 0, 1; size < 10<<20; i, size = i+1, size*3 {
		assert.Equal(t, b.B[i], byte(size))
	}
}

func TestLargeBuffersAreReused(t *testing.T) {
	const size = 1 << 20
	allocated := testing.AllocsPerRun(100, func() { Get(size).Free() })
	assert.Assert(t, allocated < 1, "%v allocations", allocated)
}

func TestTake(t *testing.T) {
	b := Get(0)
	b.B = append(b.B, "text"...)
	taken := b.Take()
	b.Free()
	assert.Equal(t, string(taken.B), "text")
	assert.Assert(t, b.B == nil)
	taken.Free()
	var none *Buffer
	none.Free()
	assert.Assert(t, none.Bytes() == nil)
}
