// Package ring keeps the last bytes of a stream, and the first and last ones, and finds patterns in
// them as they arrive.
package ring

import "slices"

// A Ring keeps the last bytes of a stream, addressed by their offset in the stream. It allocates
// memory as it fills.
type Ring struct {
	Size int // maximum number of bytes kept
	kept []byte
	End  int64 // length of the stream so far
}

// Start returns the offset of the first byte kept.
func (r *Ring) Start() int64 { return r.End - int64(len(r.kept)) }

func (r *Ring) Write(p []byte) {
	for len(p) > 0 {
		var n int
		if len(r.kept) < r.Size {
			n = min(len(p), r.Size-len(r.kept))
			r.kept = append(r.kept, p[:n]...)
		} else {
			n = copy(r.kept[r.End%int64(r.Size):], p)
		}
		r.End += int64(n)
		p = p[n:]
	}
}

// Slice returns the bytes between two offsets, which must be kept. The result may alias the ring
// and is valid until the next write.
func (r *Ring) Slice(from, to int64) []byte {
	if from == to {
		return nil
	}
	i, j := from%int64(r.Size), (to-1)%int64(r.Size)+1
	if i < j {
		return r.kept[i:j]
	}
	return slices.Concat(r.kept[i:], r.kept[:j])
}
