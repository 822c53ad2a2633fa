// Package framing splits a byte stream into messages.
//
// The bytes of a message are the payload of a frame. A framing defines where a payload ends and the
// next one begins. [Formats] has those that carry JSON-RPC over pipes and sockets, among them
//
//	Newline        {"jsonrpc":"2.0","method":"a"}\n
//	ContentLength  Content-Length: 30\r\n\r\n{"jsonrpc":"2.0","method":"a"}
//
// MCP's stdio transport uses the first (revision 2025-11-25, "Transports", stdio), the Language
// Server Protocol the second (3.17, "Base Protocol"). [Auto] detects which one the other side
// uses, and uses the same. [Resync] finds the ContentLength frames of a program that prints other
// text among them.
//
// A [Codec] reads frames from an io.Reader and appends frames to a byte slice. It never writes. The
// caller writes what was appended, one frame or many, with a single Write, so neither another
// writer nor a cancelled context can split a frame.
//
// # Errors
//
// There are two kinds of read errors, distinguished by type:
//
//   - A [*FrameError] is about one frame. The frame was skipped, the stream is at the next one, and
//     the caller may respond to the peer and read on.
//   - Any other error ends the stream: io.EOF between two frames, a [*SyncError] if the start of
//     the next frame is not known, or the error of the underlying reader, unwrapped. Every later
//     read returns it again.
//
// A stream that ends inside a Content-Length frame yields a *SyncError that matches
// io.ErrUnexpectedEOF. A truncated newline frame cannot be detected: a last line without LF is a
// frame.
//
// # Bounds
//
// A payload over [Limits].MaxFrame is refused when reading, and one over MaxAppend, by default
// MaxFrame, when appending. Memory grows with the bytes that arrived, never with a length that was
// only announced. A frame that is too large is read and dropped, which costs time but no memory. A
// frame of 16 times MaxFrame or more is not even that: it ends the stream with a *SyncError, which
// is reported before the body is read if the length is known.
package framing

import "io"

// Defaults of [Limits].
const (
	DefaultMaxFrame  = 64 << 20 // 64 MiB
	DefaultMaxHeader = 4 << 10  // 4 KiB
)

// Limits bounds what a codec accepts. A field that is not positive has its default value.
type Limits struct {
	// MaxFrame is the largest payload to read, in bytes, without line end or header. Default 64
	// MiB. A larger one is an error for the reader, and a peer of package rpc answers it or ends
	// its call if the id is at its beginning.
	MaxFrame int
	// MaxAppend is the largest payload to append, in bytes. It may differ from MaxFrame if the
	// other side has another limit. Default MaxFrame.
	MaxAppend int
	// MaxHeader is the largest Content-Length header block in bytes, including the blank line at
	// its end. Default 4 KiB. A codec has a read buffer of 4 KiB, or, while more than that arrives,
	// of 64 KiB or MaxHeader, whichever is larger.
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

// A Codec reads and appends the frames of one connection. ReadFrame must not be called
// concurrently; AppendFrame may be, with different dst. No method retains a slice.
type Codec interface {
	// ReadFrame reads the payload of the next frame into dst[:0], which it grows as needed, and
	// returns it. The caller owns the memory before and after. With an error, the result is empty,
	// but still has the memory of dst, for the next call.
	//
	// ReadFrame blocks while the reader does. It returns a *FrameError if this frame was skipped
	// and the next one can be read. Any other error is final (see the package comment).
	ReadFrame(dst []byte) ([]byte, error)

	// AppendFrame appends to dst one frame whose payload is the concatenation of parts, and returns
	// the extended slice. It does not block, and allocates only if dst lacks room. Parts must not
	// be in the spare capacity of dst.
	//
	// It returns dst and a *FrameError if the payload is larger than Limits.MaxAppend
	// (ErrTooLarge), empty (ErrEmpty), or contains a line break that this framing does not allow
	// (ErrLineBreak).
	//
	// Each call through this interface allocates the slice of parts. To avoid that, pass the same
	// [][]byte with "..." in each call.
	AppendFrame(dst []byte, parts ...[]byte) ([]byte, error)
}

// A Finisher is a Codec that can make a frame of a payload in place, which saves copying a large
// one.
type Finisher interface {
	// FinishFrame appends to payload the part of the frame that follows a payload, and returns the
	// frame. It checks the payload as AppendFrame does. With an error the payload is unchanged; the
	// error is [errors.ErrUnsupported] if a frame has a part before its payload.
	FinishFrame(payload []byte) ([]byte, error)
}

// A Framing returns a Codec that reads from r. [Auto] and those of [Formats] are Framings, and
// [Resync] returns one. The codec reads ahead, so nothing else may read from r. It never closes r,
// and reads only in ReadFrame, so r may be nil if nothing is read.
type Framing func(r io.Reader, l Limits) Codec
