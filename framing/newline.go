package framing

import (
	"bufio"
	"bytes"
	"io"
	"slices"
)

// Newline frames each payload as one line:
//
//	payload LF
//
// Reading takes CRLF for LF, skips lines of nothing but white space, and takes a last line
// without LF for a frame. All other bytes, a byte order mark among them, are payload. A line
// over Limits.MaxFrame is skipped to its LF and gives a *FrameError (ErrTooLarge).
//
// Appending refuses LF and CR in the payload (ErrLineBreak): JSON needs neither.
func Newline(r io.Reader, l Limits) Codec { return &newline{newSource(r, l)} }

type newline struct{ *source }

func (c *newline) ReadFrame(dst []byte) ([]byte, error) {
	for c.err == nil {
		dst = dst[:0]
		line, err := c.br.ReadSlice('\n')
		size, long := int64(len(line)), err == bufio.ErrBufferFull
		if long {
			dst, size, err = c.readLong(dst, line)
			line = dst
		}
		if err != nil {
			c.end(err)
			if err != io.EOF { // at EOF the line, if there is one, is the last frame
				break
			}
		}
		limit := c.limits.MaxFrame
		if c.hopeless(size) {
			c.end(giveUp(size, limit, "a line of %d bytes or more, with a limit of %d"))
			break
		}
		payload := trimLineEnd(line)
		switch {
		case size > int64(len(line)) || len(payload) > limit:
			if err == nil {
				size-- // the LF
			}
			return dst[:0], tooLarge(size, limit)
		case isBlank(payload):
			continue
		case long:
			return payload, nil
		}
		return append(dst, payload...), nil
	}
	return dst[:0], c.err
}

// readLong reads the rest of a line that filled the buffer with head. It collects the line in
// dst as long as that can become a frame, then only counts. It returns dst and the size of
// the line so far: up to its LF, an error, or where there is no hope of it.
func (c *newline) readLong(dst, head []byte) (_ []byte, size int64, err error) {
	limit := c.limits.MaxFrame
	for chunk := head; ; chunk, err = c.br.ReadSlice('\n') {
		if err == bufio.ErrBufferFull {
			err = nil
		}
		size += int64(len(chunk))
		if size-2 <= int64(limit) { // 2 for CRLF
			if cap(dst)-len(dst) < len(chunk) { // double what has arrived
				dst = slices.Grow(dst, max(len(chunk), min(len(dst), limit-len(dst))))
			}
			dst = append(dst, chunk...)
		}
		if err != nil || chunk[len(chunk)-1] == '\n' || c.hopeless(size) {
			return dst, size, err
		}
	}
}

func (c *newline) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	size, err := c.limits.checkSize(parts)
	if err != nil {
		return dst, err
	}
	offset, blank := 0, true
	for _, p := range parts {
		for _, br := range [...]byte{'\n', '\r'} {
			if i := bytes.IndexByte(p, br); i >= 0 {
				return dst, &FrameError{Err: ErrLineBreak, Offset: offset + i}
			}
		}
		offset += len(p)
		blank = blank && isBlank(p)
	}
	if blank {
		return dst, &FrameError{Err: ErrEmpty}
	}
	dst = slices.Grow(dst, size+1)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return append(dst, '\n'), nil
}

// trimLineEnd cuts off LF or CRLF, or the CR that a stream ended on.
func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
