package proc

import "slices"

// A ring keeps the last bytes of a stream, addressed by their offset in the stream. It allocates
// memory as it fills.
type ring struct {
	size int // maximum number of bytes kept
	kept []byte
	end  int64 // length of the stream so far
}

// start returns the offset of the first byte kept.
func (r *ring) start() int64 { return r.end - int64(len(r.kept)) }

func (r *ring) write(p []byte) {
	for len(p) > 0 {
		var n int
		if len(r.kept) < r.size {
			n = min(len(p), r.size-len(r.kept))
			r.kept = append(r.kept, p[:n]...)
		} else {
			n = copy(r.kept[r.end%int64(r.size):], p)
		}
		r.end += int64(n)
		p = p[n:]
	}
}

// slice returns the bytes between two offsets, which must be kept. The result may alias the ring
// and is valid until the next write.
func (r *ring) slice(from, to int64) []byte {
	if from == to {
		return nil
	}
	i, j := from%int64(r.size), (to-1)%int64(r.size)+1
	if i < j {
		return r.kept[i:j]
	}
	return slices.Concat(r.kept[i:], r.kept[:j])
}
