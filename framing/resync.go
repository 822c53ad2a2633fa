package framing

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/httptoken"
)

// Resync returns a framing like [ContentLength] for the output of a program that prints other text
// among its messages, as some servers print their log. A frame begins at the last Content-Length or
// Content-Type of a line; text before it on that line, and every other line outside of frames, is
// passed to isMessage without its line end. If isMessage returns true for a line, that is a message
// in a [Newline] frame. isMessage is called for the payload of each Content-Length frame too, with
// framed set; if it returns false, frames are searched for in the payload. It is called with what
// there is of a frame in which the stream ends as well, before the *SyncError about that. A header
// block without a valid length is one text, whose lines end in LF.
//
// isMessage reports or drops what is not a message, and must not retain it.
//
// If skipped is not nil, it is called with each part, in order, of a frame or line over
// Limits.MaxFrame, before the *FrameError about it, and no frame or line is too large to be
// skipped. It must not retain the part. A line of up to Limits.MaxHeader is passed to isMessage.
//
// A stream that begins with a frame of another of [Formats] has that framing to its end: isMessage
// is called for each payload, with framed set, and what it returns false for is dropped.
//
// AppendFrame appends Content-Length frames, or those of the other framing once it is detected.
func Resync(isMessage func(text []byte, framed bool) bool,
	skipped func(part []byte, framed bool)) Framing {
	return func(r io.Reader, l Limits) Codec {
		s := newSource(r, l)
		s.skipped = skipped
		lines := *s // which may be headers, and so longer than a frame
		lines.limits.MaxFrame = max(lines.limits.MaxFrame, lines.limits.MaxHeader)
		return &resync{contentLength: contentLength{s}, lines: newline{&lines},
			others:    slices.DeleteFunc(Formats(), func(f Format) bool { return f.amongText }),
			isMessage: isMessage}
	}
}

type resync struct {
	contentLength
	lines     newline
	others    []Format              // the framings to detect, until the stream has begun
	other     atomic.Pointer[Codec] // of the one that is detected
	isMessage func(text []byte, framed bool) bool
	block     []byte // the header block that is being read
	searched  int    // payloads that were searched since the last message
}

// GrowWith is for lines, too, which have a source of their own.
func (c *resync) GrowWith(grow func(dst []byte, n int) []byte) {
	c.source.GrowWith(grow)
	c.lines.GrowWith(grow)
}

// Limits of searching payloads that are no messages, which copies them.
const (
	maxSearched = 100
	maxSearch   = 1 << 20 // bytes of a payload
)

func (c *resync) ReadFrame(dst []byte) ([]byte, error) {
	if len(c.others) > 0 && c.err == nil {
		if err := c.detectOther(); err != nil {
			return dst[:0], c.end(err)
		}
	}
	if other := c.other.Load(); other != nil {
		for {
			var err error
			if dst, err = (*other).ReadFrame(dst); err != nil || c.isMessage(dst, true) {
				return dst, err
			}
		}
	}
	again := false // dst is the next line
	for c.err == nil {
		if !again {
			var err error
			if dst, err = c.lines.ReadFrame(dst); err != nil {
				c.keepHead(c.lines.head)
				return dst, err
			}
		}
		again = false
		start, size := c.headerStart(dst)
		if start < 0 {
			switch {
			case !c.isMessage(dst, false):
				continue
			case len(dst) > c.limits.MaxFrame:
				c.keepHead(dst)
				return dst[:0], tooLarge(int64(len(dst)), c.limits.MaxFrame)
			}
			return dst, nil
		}
		if len(bytes.TrimSpace(dst[:start])) > 0 {
			c.isMessage(dst[:start], false) // a line that goes on with a header is no message
		}
		c.block = append(c.block[:0], dst[start:]...)
		var err error
		if size, dst, err = c.readBlock(size, dst[:0]); err != nil {
			return dst[:0], c.end(err)
		}
		if again = len(dst) > 0; again {
			continue
		}
		if size <= 0 || c.cannotSkip(size) { // a text about frames
			c.isMessage(c.block, false)
			continue
		}
		dst, err = c.readPayload(dst, size)
		switch {
		case err == nil:
		case c.err == nil: // it is too large
			return dst[:0], err
		case len(dst) > 0 && c.isMessage(dst, true):
			return dst, nil
		case len(dst) == 0 && size <= int64(c.limits.MaxFrame):
			c.isMessage(c.block, false)
			return dst, err
		default:
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
			c.br.unread(dst[i:])
		}
	}
	return dst[:0], c.err
}

// detectOther detects a framing whose frames cannot be among other text.
func (c *resync) detectOther() error {
	if err := c.lines.begin(); err != nil {
		return err
	}
	f, err := c.detect(c.others)
	if f != nil {
		codec := f.Framing(c.source, c.limits)
		c.other.Store(&codec)
	}
	c.others = nil
	return err
}

func (c *resync) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	if other := c.other.Load(); other != nil {
		return (*other).AppendFrame(dst, parts...)
	}
	return c.contentLength.AppendFrame(dst, parts...)
}

// readBlock adds the rest of a header block to c.block, and returns the length in it, or -1. If
// that is no header block, it passes it to isMessage. next is then the line that is no part of it,
// in the memory of dst, if that has been read.
func (c *resync) readBlock(size int64, dst []byte) (_ int64, next []byte, err error) {
	for left := c.limits.MaxHeader - len(c.block); ; {
		line, n, err := c.headerLine(left)
		if lost, ok := err.(*SyncError); ok && lost.Err == nil { // a line that is too long
			c.isMessage(c.block, false)
			return 0, dst, nil
		}
		if err != nil {
			rest, _ := c.br.Peek(c.br.Buffered())
			if len(rest) > 0 {
				c.block = append(append(c.block, '\n'), rest...)
			}
			c.isMessage(c.block, false)
			return 0, dst, truncated(err, "inside a header block")
		}
		if left -= n; len(line) == 0 {
			c.block = append(c.block, '\n')
			return size, dst, nil
		}
		length, ok := addHeader(size, line)
		if !ok || left <= 0 {
			c.isMessage(c.block, false)
			return 0, append(dst, line...), nil
		}
		size, c.block = length, append(append(c.block, '\n'), line...)
	}
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
// a Content-Length with a number that the line ends with. size is the length, or -1 if the block
// begins with another header.
func (c *resync) headerStart(line []byte) (start int, size int64) {
	start = -1
	if len(line) >= len(headerPrefix) && bytes.EqualFold(line[:len(headerPrefix)],
		[]byte(headerPrefix)) {
		name, _, ok := bytes.Cut(line, []byte{':'})
		if ok && (bytes.EqualFold(name, []byte(lengthName)) ||
			bytes.EqualFold(name, []byte(typeName))) {
			start = 0
		}
	}
	digits := bytes.TrimRight(line, "0123456789")
	name := bytes.TrimRight(digits, " \t")
	const header = lengthName + ":"
	if at := len(name) - len(header); start < 0 && len(digits) < len(line) && at > 0 &&
		bytes.EqualFold(name[at:], []byte(header)) {
		start = at
	}
	if start >= 0 && len(line)-start < c.limits.MaxHeader {
		if size, ok := addHeader(-1, line[start:]); ok {
			return start, size
		}
	}
	return -1, -1
}
