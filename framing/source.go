package framing

import (
	"io"
	"math"
	"slices"
)

const (
	// skipFactor times MaxFrame is the size of the smallest frame that ends the stream instead of
	// being skipped.
	skipFactor = 16
	// growStep is how many bytes are allocated for a payload before any of it has arrived.
	growStep = 1 << 20
)

// A source is the reading side of a connection, shared by its codecs.
type source struct {
	br     *readAhead
	limits Limits
	err    error // what ended the stream; accessed only by the reading goroutine
	begun  bool  // begin was called

	grow    func(dst []byte, n int) []byte // see GrowWith
	skipped func(part []byte, framed bool) // see Resync; may be nil
	head    []byte                         // see SkippedHead
}

// maxHead is how many bytes of a skipped frame are kept.
const maxHead = 256

// SkippedHead returns the first bytes of the frame that was too large and skipped last. They are
// valid until the next one. Package rpc looks for the id of a message in them.
func (s *source) SkippedHead() []byte { return s.head }

func (s *source) keepHead(frame []byte) {
	s.head = append(s.head[:0], frame[:min(len(frame), maxHead)]...)
}

// GrowWith makes the source use grow in place of [slices.Grow] for the slice that it appends a
// payload to. Package rpc has large ones from a pool.
func (s *source) GrowWith(grow func(dst []byte, n int) []byte) { s.grow = grow }

// bom is the UTF-8 byte order mark that some programs write at the start of a stream.
const bom = "\uFEFF"

// begin discards a byte order mark at the start of the stream. It waits for as few bytes as needed,
// so that a short first line is not delayed.
func (s *source) begin() error {
	s.begun = true
	for n := 1; n <= len(bom); n++ {
		first, err := s.br.Peek(n)
		switch {
		case err != nil && (err != io.EOF || n == 1):
			return err
		case err != nil || first[n-1] != bom[n-1]:
			return nil
		}
	}
	_, err := s.br.Discard(len(bom))
	return err
}

// newSource returns the source that reads from r. If r is a source itself, it returns r, so that a
// codec that has detected the framing passes its source to the codec of that framing.
func newSource(r io.Reader, l Limits) *source {
	if s, ok := r.(*source); ok {
		return s
	}
	s := &source{limits: l.withDefaults(), grow: slices.Grow[[]byte]}
	if r != nil { // otherwise nothing is read
		s.br = newReadAhead(r, s.limits.MaxHeader)
	}
	return s
}

// Read makes a source an io.Reader, for newSource.
func (s *source) Read(p []byte) (int, error) { return s.br.Read(p) }

// end makes this and every later read return err.
func (s *source) end(err error) error {
	s.err = err
	return err
}

// cannotSkip reports whether a frame of size bytes is too large to be skipped.
func (s *source) cannotSkip(size int64) bool {
	// divided, not multiplied, which could overflow
	return s.skipped == nil && size/skipFactor >= int64(s.limits.MaxFrame)
}

// checkSize returns the size of a payload, or an error if it must not be appended.
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

// readPayload reads a payload of size bytes into dst. If the stream ends inside it, it returns what
// there is.
func (s *source) readPayload(dst []byte, size int64) ([]byte, error) {
	limit := s.limits.MaxFrame
	switch {
	case size == 0:
		return dst, &FrameError{Err: ErrEmpty}
	case s.cannotSkip(size):
		return dst, s.end(tooLargeToSkip(size, limit, "a frame of %d bytes, with a limit of %d"))
	case size > int64(limit):
		head, err := s.br.Peek(int(min(size, maxHead)))
		if s.keepHead(head); err != nil {
			return dst, s.end(truncated(err, "after %d of %d bytes of a frame", len(head), size))
		}
		if err := s.skip(size); err != nil {
			return dst, s.end(err)
		}
		return dst, tooLarge(size, limit)
	}
	for want := int(size); len(dst) < want; {
		step := min(want-len(dst), max(cap(dst)-len(dst), len(dst), growStep))
		if cap(dst)-len(dst) < step {
			dst = s.grow(dst, step)
		}
		n, err := io.ReadFull(s.br, dst[len(dst):len(dst)+step])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, s.end(truncated(err, "after %d of %d bytes of a frame", len(dst), want))
		}
	}
	return dst, nil
}

// skip discards the body of a frame that is too large.
func (s *source) skip(size int64) error {
	for left := size; left > 0; {
		n := int(min(left, math.MaxInt32))
		if s.skipped != nil {
			if _, err := s.br.Peek(1); err != nil {
				return truncated(err, "after %d of %d bytes of a frame", size-left, size)
			}
			part, _ := s.br.Peek(min(n, s.br.Buffered()))
			s.skipped(part, true)
			n = len(part)
		}
		n, err := s.br.Discard(n)
		left -= int64(n)
		if err != nil {
			return truncated(err, "after %d of %d bytes of a frame", size-left, size)
		}
	}
	return nil
}
