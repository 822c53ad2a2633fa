package rpc

import "io"

// Pipe returns two peers that are connected to each other in memory. When one ends, so does the
// other.
func Pipe(o1, o2 Options) (*Peer, *Peer) {
	r1, w2 := io.Pipe()
	r2, w1 := io.Pipe()
	return NewPeer(pipe{r1, w1}, o1), NewPeer(pipe{r2, w2}, o2)
}

// A pipe is one end of an in-memory connection.
type pipe struct {
	*io.PipeReader
	*io.PipeWriter
}

func (p pipe) Close() error {
	_ = p.PipeReader.Close()
	return p.PipeWriter.Close()
}
