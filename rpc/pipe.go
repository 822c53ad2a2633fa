package rpc

import "io"

// Pipe returns two peers that are connected to each other in memory. When one ends, so does the
// other.
func Pipe(o1, o2 Options) (*Peer, *Peer) {
	r1, w2 := io.Pipe()
	r2, w1 := io.Pipe()
	return NewPeer(Stream(r1, w1), o1), NewPeer(Stream(r2, w2), o2)
}
