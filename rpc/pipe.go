package rpc

import "io"

// Pipe returns two peers that are connected to each other in memory, the first with options o and
// the second with other. When one ends, so does the other.
func (o Options) Pipe(other Options) (*Peer, *Peer) {
	r1, w2 := io.Pipe()
	r2, w1 := io.Pipe()
	return o.New(Stream(r1, w1)), other.New(Stream(r2, w2))
}
