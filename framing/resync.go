package framing

import (
	"bytes"
	"io"

	"github.com/stdwire/stdwire/internal/httptoken"
)

// Resync returns a framing like [ContentLength] for the output of a program that prints other text
// among its messages, as some servers print their log. A frame begins at the last Content-Length or
// Content-Type of a line; text before it on that line, and every other line outside of frames, is
// passed to isMessage without its line end. If isMessage returns true for a line, that is a message
// in a [Newline] frame. isMessage is called for the payload of each Content-Length frame too, with
// framed set; if it returns false, frames are searched for in the payload.
//
// isMessage reports or drops what is not a message, and must not retain it. A stream that ends
// inside a frame yields a *SyncError after isMessage was called with what there is. AppendFrame
// appends Content-Length frames.
func Resync(isMessage func(text []byte, framed bool) bool) Framing {
	return func(r io.Reader, l Limits) Codec {
		s := newSource(r, l)
		lines := *s // which may be headers, and so longer than a frame
		lines.limits.MaxFrame = max(lines.limits.MaxFrame, lines.limits.MaxHeader)
		return &resync{contentLength: contentLength{s}, lines: newline{&lines},
			unread: &unreader{r: r}, isMessage: isMessage}
	}
}

type resync struct {
	contentLength
	lines     newline
	unread    *unreader
	isMessage func(text []byte, framed bool) bool
	searched  int // payloads that were searched since the last message
}

// Limits of searching payloads that are no messages, which copies them.
const (
	maxSearched = 100
	maxSearch   = 1 << 20 // bytes of a payload
)

func (c *resync) ReadFrame(dst []byte) ([]byte, error) {
	for c.err == nil {
		var err error
		if dst, err = c.lines.ReadFrame(dst); err != nil {
			return dst, err
		}
		start := headerStart(dst)
		switch {
		case start >= 0:
		case !c.isMessage(dst, false):
			continue
		case len(dst) > c.limits.MaxFrame:
			return dst[:0], tooLarge(int64(len(dst)), c.limits.MaxFrame)
		default:
			return dst, nil
		}
		if len(bytes.TrimSpace(dst[:start])) > 0 {
			c.isMessage(dst[:start], false) // a line that goes on with a header is no message
		}
		size, ok, err := c.readBlock(dst[start:])
		if err != nil {
			return dst[:0], c.end(err)
		}
		if ok && c.cannotSkip(size) {
			c.isMessage(dst[start:], false) // a text about frames
			continue
		}
		if !ok {
			continue
		}
		if dst, err = c.readPayload(dst[:0], size); err != nil {
			if c.err != nil {
				c.isMessage(dst, false)
			}
			return dst[:0], err
		}
		if c.isMessage(dst, true) {
			c.searched = 0
			return dst, nil
		}
		if c.searched++; c.searched > maxSearched || len(dst) > maxSearch {
			continue
		}
		if i := bytes.Index(bytes.ToLower(dst), []byte("content-length:")); i >= 0 {
			c.unreadPayload(dst[i:])
		}
	}
	return dst[:0], c.err
}

// readBlock reads the rest of a header block that begins with a line. If that is no header block,
// ok is false, and its lines were passed to isMessage.
func (c *resync) readBlock(line []byte) (size int64, ok bool, err error) {
	size = -1
	for left := c.limits.MaxHeader - len(line); len(line) > 0; {
		if size, ok = addHeader(size, line); !ok || left <= 0 {
			c.isMessage(line, false)
			return 0, false, nil
		}
		var n int
		line, n, err = c.headerLine(left)
		if lost, tooLong := err.(*SyncError); tooLong && lost.Err == nil {
			return 0, false, nil // the line is read again, as one
		}
		if err != nil {
			return 0, false, truncated(err, "inside a header block")
		}
		left -= n
	}
	return size, size > 0, nil
}

// addHeader evaluates a line of a header block, of which size is the length so far, or -1.
func addHeader(size int64, line []byte) (int64, bool) {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !httptoken.Is(name) {
		return size, false
	}
	if bytes.EqualFold(name, []byte(lengthName)) {
		return parseLength(bytes.Trim(value, " \t"))
	}
	return size, true
}

// headerStart returns where in a line a header block begins, or -1: at the start of the line, or at
// a Content-Length with a number that the line ends with.
func headerStart(line []byte) int {
	if len(line) >= len(headerPrefix) && bytes.EqualFold(line[:len(headerPrefix)],
		[]byte(headerPrefix)) {
		name, _, ok := bytes.Cut(line, []byte{':'})
		if ok && (bytes.EqualFold(name, []byte(lengthName)) ||
			bytes.EqualFold(name, []byte(typeName))) {
			return 0
		}
	}
	digits := bytes.TrimRight(line, "0123456789")
	name := bytes.TrimRight(digits, " \t")
	const header = lengthName + ":"
	if start := len(name) - len(header); len(digits) < len(line) && start > 0 &&
		bytes.EqualFold(name[start:], []byte(header)) {
		return start
	}
	return -1
}

// unreadPayload makes part of a payload the next bytes of the stream.
func (c *resync) unreadPayload(rest []byte) {
	buffered, _ := c.br.Peek(c.br.Buffered())
	c.unread.rest = bytes.Join([][]byte{rest, buffered, c.unread.rest}, nil)
	c.br.Reset(c.unread)
}

// An unreader reads bytes that were read too early, and then those of a reader.
type unreader struct {
	rest []byte
	r    io.Reader
}

func (u *unreader) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		u.rest = nil
		return u.r.Read(p)
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
