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
// Reading accepts CRLF for LF, skips lines that are blank, and returns a last line without LF as a
// frame. A byte order mark is skipped at the start of the stream; everywhere else, and like all
// other bytes, it is payload. A line over Limits.MaxFrame is skipped and yields a *FrameError
// (ErrTooLarge).
//
// Appending refuses LF and CR in the payload (ErrLineBreak). JSON can be written without them.
func Newline(r io.Reader, l Limits) Codec { return &newline{newSource(r, l)} }

type newline struct{ *source }

func (c *newline) ReadFrame(dst []byte) ([]byte, error) {
	if !c.begun && c.err == nil {
		if err := c.begin(); err != nil {
			return dst[:0], c.end(err)
		}
	}
	for c.err == nil {
		dst = dst[:0]
		line, err := c.br.ReadSlice('\n')
		size, long := int64(len(line)), err == bufio.ErrBufferFull
		if long {
			c.keepHead(line)
			dst, size, err = c.readLong(dst, line)
			line = dst
		}
		if err != nil {
			c.end(err)
			if err != io.EOF { // at EOF the rest is the last frame
				break
			}
		}
		limit := c.limits.MaxFrame
		if c.cannotSkip(size) {
			size = int64(limit) * skipFactor // whatever the reads have returned beyond
			c.end(tooLargeToSkip(size, limit, "a line of %d bytes or more, with a limit of %d"))
			break
		}
		payload := trimLineEnd(line)
		switch {
		case size > int64(len(line)) || len(payload) > limit:
			if !long {
				c.keepHead(line)
			}
			if c.skipped != nil && size == int64(len(line)) {
				c.skipped(bytes.TrimSuffix(line, []byte{'\n'}), false)
			}
			if err == nil {
				size-- // the LF
			}
			return dst[:0], tooLarge(size, limit)
		case isBlank(payload):
			continue
		case long:
			return payload, nil
		}
		if cap(dst) < len(payload) {
			dst = c.grow(dst, len(payload))
		}
		return append(dst, payload...), nil
	}
	return dst[:0], c.err
}

// readLong reads the rest of a line that filled the buffer with head. It appends the line to dst
// while it may still be a frame, and then only counts bytes. It returns dst and the size of the
// line up to its LF, an error, or the size from which it cannot be skipped.
func (c *newline) readLong(dst, head []byte) (_ []byte, size int64, err error) {
	limit := c.limits.MaxFrame
	inPlace := false // chunk has been read into the memory of dst
	for chunk := head; ; {
		before := size
		size += int64(len(chunk))
		switch {
		case inPlace:
			dst = dst[:len(dst)+len(chunk)]
		case size-2 > int64(limit): // 2 for CRLF
			if c.skipped != nil {
				if before == int64(len(dst)) {
					c.skipped(dst, false)
				}
				c.skipped(bytes.TrimSuffix(chunk, []byte{'\n'}), false)
			}
		default:
			if cap(dst)-len(dst) < len(chunk) { // double what has arrived
				dst = c.grow(dst, max(len(chunk), min(len(dst), limit-len(dst))))
			}
			dst = append(dst, chunk...)
		}
		if err != nil || chunk[len(chunk)-1] == '\n' || c.cannotSkip(size) {
			return dst, size, err
		}
		room := min(cap(dst), limit) - len(dst)
		if inPlace = room >= idleBuffer && size == int64(len(dst)); inPlace {
			chunk, err = c.br.readInto(dst[len(dst):][:room], '\n')
		} else {
			chunk, err = c.br.ReadSlice('\n')
		}
		if err == bufio.ErrBufferFull {
			err = nil
		}
	}
}

func (c *newline) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	size, err := c.check(parts)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, size+1)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return append(dst, '\n'), nil
}

func (c *newline) FinishFrame(payload []byte) ([]byte, error) {
	if _, err := c.check([][]byte{payload}); err != nil {
		return payload, err
	}
	return append(payload, '\n'), nil
}

// check returns the size of a payload, or an error if it must not be appended.
func (c *newline) check(parts [][]byte) (size int, err error) {
	if size, err = c.limits.checkSize(parts); err != nil {
		return 0, err
	}
	offset, blank := 0, true
	for _, p := range parts {
		for _, br := range [...]byte{'\n', '\r'} {
			if i := bytes.IndexByte(p, br); i >= 0 {
				return 0, &FrameError{Err: ErrLineBreak, Offset: offset + i}
			}
		}
		offset += len(p)
		blank = blank && isBlank(p)
	}
	if blank {
		return 0, &FrameError{Err: ErrEmpty}
	}
	return size, nil
}

// trimLineEnd removes LF or CRLF, or a CR at the end of the stream.
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
