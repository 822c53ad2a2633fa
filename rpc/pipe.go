package rpc

import "net"

// Pipe returns two peers that are connected to each other in memory. When one ends, so does the
// other.
func Pipe(o1, o2 Options) (*Peer, *Peer) {
	near, far := net.Pipe()
	return NewPeer(near, o1), NewPeer(far, o2)
}
