package client

import (
	"io"

	"github.com/stdwire/stdwire/framing"
)

// A Transport carries messages to and from one server, for one client. [Stream] creates one from a
// byte stream; package client/streamable has one for HTTP.
type Transport interface {
	// Open is called once, before the other methods. The link may be used until Close has returned.
	Open(link *Link) error
	// ReadFrame blocks until the next message and returns it in memory that the transport does not
	// reuse: dst[:0] if it is large enough. A [*framing.FrameError] affects one message; any other
	// error ends the connection: [io.EOF] if the server has closed it.
	ReadFrame(dst []byte) ([]byte, error)
	// Write sends one or more messages, each followed by a newline and without one inside. One
	// goroutine calls it at a time. It must not retain frames. While it blocks, other calls wait;
	// it must return when Close is called.
	Write(frames []byte) (int, error)
	// Close ends the connection and unblocks the other methods.
	Close() error
}

// Stream returns a transport for a stream to a server, with a newline after each message
// (2025-11-25, Transports, "stdio"). Closing the stream must unblock its Read and Write.
func Stream(stream io.ReadWriteCloser) Transport { return &byteStream{ReadWriteCloser: stream} }

// A byteStream is a Transport over a stream.
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
		s.link.Received()
	}
	return n, err
}

func (s *byteStream) ReadFrame(dst []byte) ([]byte, error) { return s.codec.ReadFrame(dst) }
