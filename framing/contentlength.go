package framing

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/internal/httptoken"
)

// ContentLength frames each payload with a header block that has its size:
//
//	Content-Length: SIZE CRLF
//	CRLF
//	payload
//
// Reading accepts names in any case, LF for CRLF, any white space around a value, and line ends
// between frames, and ignores unknown headers. A Content-Length must consist of decimal digits and
// may be repeated only with the same value. The charset of a Content-Type, if there is one, must be
// utf-8 or utf8. Anything else in a header block, and a block over Limits.MaxHeader, is a
// *SyncError. So is a length of 16 times Limits.MaxFrame or more. A smaller one over the limit
// (ErrTooLarge) is skipped, as is one of zero (ErrEmpty), with a *FrameError.
//
// Memory for a payload grows in steps of at most 1 MiB or the size of what has arrived, whichever
// is larger, regardless of the length in the header.
func ContentLength(r io.Reader, l Limits) Codec { return &contentLength{newSource(r, l)} }

const (
	lengthName = "Content-Length"
	typeName   = "Content-Type"
	// maxBlock bounds the header block that AppendFrame writes.
	maxBlock = len(lengthName) + len(": \r\n\r\n") + 20
)

type contentLength struct{ *source }

func (c *contentLength) ReadFrame(dst []byte) ([]byte, error) {
	dst = dst[:0]
	if c.err != nil {
		return dst, c.err
	}
	size, err := c.readHeader()
	if err != nil {
		return dst, c.end(err)
	}
	if dst, err = c.readPayload(dst, size); c.err != nil {
		return dst[:0], err
	}
	return dst, err
}

// readHeader reads one header block and returns the length in it.
func (c *contentLength) readHeader() (int64, error) {
	size := int64(-1)
	for left := c.limits.MaxHeader; ; {
		line, n, err := c.headerLine(left)
		switch {
		case err == io.EOF && n == 0 && left == c.limits.MaxHeader:
			return 0, io.EOF // between two frames
		case err != nil:
			return 0, truncated(err, "inside a header block")
		case len(line) == 0 && left == c.limits.MaxHeader:
			continue // a line end between two frames
		case len(line) == 0 && size < 0:
			return 0, syncError("a header block without %s", lengthName)
		case len(line) == 0:
			return size, nil
		}
		left -= n
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || !httptoken.Is(name) {
			hint := ""
			if line[0] == '{' || line[0] == '[' {
				hint = ", but JSON: the other side sends each message as a line, see Newline"
			}
			return 0, syncError("%s is no header%s", quote(line), hint)
		}
		value = bytes.Trim(value, " \t")
		switch {
		case bytes.EqualFold(name, []byte(lengthName)):
			length, ok := parseLength(value)
			if !ok {
				return 0, syncError("%s %s is not a number of bytes", lengthName, quote(value))
			}
			if size >= 0 && size != length {
				return 0, syncError("%s is both %d and %d", lengthName, size, length)
			}
			size = length
		case bytes.EqualFold(name, []byte(typeName)):
			if !isUTF8(value) {
				return 0, syncError("%s %s is not in UTF-8", typeName, quote(value))
			}
		}
	}
}

// headerLine returns the next line of at most limit bytes, without its end, and how many bytes it
// read. The line is valid until the next read. It checks the limit as bytes arrive, because waiting
// for a full buffer could block forever.
func (c *contentLength) headerLine(limit int) (line []byte, n int, err error) {
	for {
		buffered, err := c.br.Peek(min(c.br.Buffered(), limit))
		if err != nil {
			return nil, n, err
		}
		if i := bytes.IndexByte(buffered[n:], '\n'); i >= 0 {
			n += i + 1
			_, err := c.br.Discard(n)
			return trimLineEnd(buffered[:n]), n, err
		}
		n = len(buffered)
		if n == limit {
			return nil, n, syncError("a header block of more than %d bytes", c.limits.MaxHeader)
		}
		if _, err := c.br.Peek(n + 1); err != nil {
			return nil, n, err
		}
	}
}

// truncated returns the error for a stream that ended inside a frame. It returns other errors
// unchanged.
func truncated(err error, format string, args ...any) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	e := syncError("the stream ended "+format, args...)
	e.Err = io.ErrUnexpectedEOF
	return e
}

func (c *contentLength) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	size, err := c.limits.checkSize(parts)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, maxBlock+size)
	dst = append(dst, lengthName+": "...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, "\r\n\r\n"...)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst, nil
}

// parseLength accepts only decimal digits.
func parseLength(digits []byte) (n int64, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	return n, len(digits) > 0
}

// isUTF8 reports whether a content type has no charset other than UTF-8. Its media type is ignored.
// "utf8" is what early LSP clients sent (LSP 3.17, "Header Part").
func isUTF8(contentType []byte) bool {
	_, params := nextParam(contentType)
	for len(params) > 0 {
		var param []byte
		param, params = nextParam(params)
		name, value, _ := bytes.Cut(param, []byte{'='})
		if !bytes.EqualFold(bytes.TrimSpace(name), []byte("charset")) {
			continue
		}
		value = bytes.TrimSpace(value)
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		if !bytes.EqualFold(value, []byte("utf-8")) && !bytes.EqualFold(value, []byte("utf8")) {
			return false
		}
	}
	return true
}

// nextParam splits the value of a header at the first semicolon outside a quoted string.
func nextParam(value []byte) (param, rest []byte) {
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ';' && !quoted:
			return value[:i], value[i+1:]
		}
	}
	return value, nil
}
