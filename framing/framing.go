// Package framing tells the messages of a byte stream apart.
//
// A message's bytes are a frame's payload; how one payload ends and the next begins is the
// framing. Two framings carry JSON-RPC over pipes and sockets:
//
//	Newline        {"jsonrpc":"2.0","method":"a"}\n
//	ContentLength  Content-Length: 30\r\n\r\n{"jsonrpc":"2.0","method":"a"}
//
// MCP's stdio transport uses the first (revision 2025-11-25, "Transports", stdio), the Language
// Server Protocol the second (3.17, "Base Protocol"). [Auto] finds out which of them the other
// side speaks and answers in kind.
//
// A [Codec] reads frames from an io.Reader and appends frames to a byte slice. It never writes:
// what was appended, one frame or many, goes out in a single Write of the caller's, so a frame
// is never torn apart by another writer or by a cancelled context.
//
// # Errors
//
// A reader meets two classes of error, told apart by type:
//
//   - A [*FrameError] costs one frame. The frame was skipped to its end, the stream stands at the
//     next one, and the caller may answer the peer and read on.
//   - Anything else ends the stream: io.EOF between two frames, a [*SyncError] where nobody can
//     tell where the next frame begins, or the error of the underlying reader, as it came.
//     It is returned again by every later read.
//
// A stream that ends inside a Content-Length frame gives a *SyncError that matches
// io.ErrUnexpectedEOF. Newline frames cannot be cut short in a way this package could see: a last
// line without its LF is a frame.
//
// # Bounds
//
// Both directions refuse a payload over [Limits].MaxFrame, and one of them may have a smaller limit. Memory follows the bytes that arrived,
// never a length that was only claimed. Too large a frame is skipped, which costs time but no more memory,
// as long as it is smaller than 16 times MaxFrame; a larger one is a *SyncError, reported before
// its body is read where its length is known.
package framing

import (
	"bufio"
	"io"
)

// Defaults of [Limits].
const (
	DefaultMaxFrame  = 64 << 20 // 64 MiB
	DefaultMaxHeader = 4 << 10  // 4 KiB
)

const (
	// readBuffer is what a codec reads ahead: a whole pipe of the usual size in one call.
	readBuffer = 64 << 10
	// skipFactor times MaxFrame is where skipping too large a frame ends and the stream is given up.
	skipFactor = 16
)

// Limits bounds what a codec accepts. A field that is not positive means its default.
type Limits struct {
	// MaxFrame is the largest payload in bytes, read or appended, without line end or header.
	MaxFrame int
	// MaxAppend is the largest payload appended, for a peer that reads less than it may send; its default is MaxFrame.
	MaxAppend int
	// MaxHeader is the largest Content-Length header block in bytes, the blank line that ends
	// it included. Each codec holds a read buffer of 64 KiB, or of MaxHeader if that is more.
	MaxHeader int
}

func (l Limits) withDefaults() Limits {
	if l.MaxFrame <= 0 {
		l.MaxFrame = DefaultMaxFrame
	}
	if l.MaxAppend <= 0 {
		l.MaxAppend = l.MaxFrame
	}
	if l.MaxHeader <= 0 {
		l.MaxHeader = DefaultMaxHeader
	}
	return l
}

// A Codec frames one connection. At most one goroutine may be in ReadFrame; AppendFrame may be
// called at any time, by any number of goroutines with a dst each. No method retains a slice.
type Codec interface {
	// ReadFrame reads the next frame's payload into dst[:0], growing it as needed, and returns
	// it. The caller owns the memory, before and after. With an error the result is empty,
	// but still the (perhaps grown) memory of dst, to be handed to the next call.
	//
	// ReadFrame blocks as long as the reader does. It returns a *FrameError when this
	// frame was skipped and the next can be read; any other error is final (see the package comment).
	ReadFrame(dst []byte) ([]byte, error)

	// AppendFrame appends to dst one frame whose payload is the concatenation of parts, and
	// returns the extended slice. It does not block and allocates only if dst lacks room. Parts
	// must not lie in dst's spare capacity.
	//
	// It returns dst as it was and a *FrameError if the payload is larger than Limits.MaxAppend
	// (ErrTooLarge), empty (ErrEmpty), or cannot be told apart in this framing (ErrLineBreak).
	//
	// The compiler allocates the list of parts at each call through this interface; where that
	// counts, keep a [][]byte and pass it as parts....
	AppendFrame(dst []byte, parts ...[]byte) ([]byte, error)
}

// A Framing makes a Codec that reads from r. [Newline], [ContentLength] and [Auto] are Framings.
// The codec reads ahead: nothing else may read from r afterwards. It never closes r, and starts to
// read only with the first ReadFrame, so that r may be nil where nothing is read.
type Framing func(r io.Reader, l Limits) Codec

// WriteFrame writes one frame to w in a single Write. It allocates the frame; a program that
// writes many appends them to a buffer of its own. It returns AppendFrame's or the writer's error.
func WriteFrame(w io.Writer, c Codec, parts ...[]byte) error {
	frame, err := c.AppendFrame(nil, parts...)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

// A source is the reading side that a connection's codecs share.
type source struct {
	br     *bufio.Reader
	limits Limits
	err    error // what ended the stream; only the reading goroutine touches it
}

func newSource(r io.Reader, l Limits) *source {
	l = l.withDefaults()
	return &source{br: bufio.NewReaderSize(r, max(readBuffer, l.MaxHeader)), limits: l}
}

// end makes err the answer to this and every later read.
func (s *source) end(err error) error {
	s.err = err
	return err
}

// hopeless tells whether a frame of size bytes is too large even to be skipped.
func (s *source) hopeless(size int64) bool {
	return size/skipFactor >= int64(s.limits.MaxFrame) // divided, so as not to overflow
}

// checkSize returns the size of a payload that may be appended under these limits.
func (l Limits) checkSize(parts [][]byte) (int, error) {
	var size int64
	for _, p := range parts {
		size += int64(len(p))
	}
	switch {
	case size == 0:
		return 0, &FrameError{Err: ErrEmpty}
	case size > int64(l.MaxAppend):
		return 0, tooLarge(size, l.MaxAppend)
	}
	return int(size), nil
}
