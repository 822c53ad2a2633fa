package client

import (
	"io"

	"github.com/stdwire/stdwire/framing"
)

// A Transport carries messages to one server and back. [Stream] makes one of a byte stream; package client/streamable has one for HTTP. It serves one client.
type Transport interface {
	// Open is called once, first of all. The link may be used until Close has returned.
	Open(link *Link) error
	// ReadFrame blocks for the next message of the server's, and returns it in memory that is not used again: dst[:0] if there is room. A [*framing.FrameError] costs
	// one message, any other error ends the connection: [io.EOF] where the server has closed it.
	ReadFrame(dst []byte) ([]byte, error)
	// Write takes one message or several, each with a newline at its end and none in it. It is called by one goroutine at a time, and must not keep the
	// slice. As long as it blocks, calls wait to be sent; it must end when Close is called.
	Write(frames []byte) (int, error)
	// Close ends the connection, and what blocks in the other methods.
	Close() error
}

// Stream makes a transport of a stream that leads to a server, with a newline after each message (2025-11-25, Transports, "stdio"). Closing the stream must end
// a Read and a Write that block on it.
func Stream(stream io.ReadWriteCloser) Transport { return &byteStream{ReadWriteCloser: stream} }

// A byteStream is a stream, and what has to be known of its traffic.
type byteStream struct {
	io.ReadWriteCloser
	link  *Link
	codec framing.Codec
}

func (s *byteStream) Open(link *Link) error {
	s.link = link
	s.codec = framing.Newline(s, link.Limits())
	return nil
}

func (s *byteStream) Read(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(b)
	if n > 0 {
		s.link.Heard()
	}
	return n, err
}

func (s *byteStream) ReadFrame(dst []byte) ([]byte, error) { return s.codec.ReadFrame(dst) }
