package tap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// A piece is one frame, as it was found in a stream.
type piece struct {
	payload  []byte // without line end or header; at most the limit's bytes. It is valid until emit returns
	size     int64  // of all of it
	sha256   string // of all of it, in hexadecimal, if the payload is cut
	byLength bool   // it had a header block
	partial  bool   // the stream ended within it
}

// A splitter finds frames in a stream that it is given in chunks, whatever stands between them. Unlike the codecs of package framing it neither reads nor gives up: a frame begins with a
// header block, if it looks like one, or else is a line; what turns out to be no header block is a piece like any other.
type splitter struct {
	limit int
	emit  func(piece)

	state splitState
	buf   []byte    // the line, header block or body so far, up to limit
	size  int64     // of all of it
	sum   hash.Hash // of all of it, once it is more than limit
	line  int       // where the line of a header block begins in buf
	left  int64     // of a body, -1 as long as its length is not known
}

type splitState uint8

const (
	inLine splitState = iota
	inHeader
	inBody
)

// maxHeader is how large a header block can be.
const maxHeader = 4 << 10

// write takes the next chunk.
func (s *splitter) write(p []byte) {
	for len(p) > 0 {
		if s.state == inBody {
			n := min(s.left, int64(len(p)))
			s.take(p[:n])
			p = p[n:]
			if s.left -= n; s.left == 0 {
				s.flush(piece{byLength: true})
			}
			continue
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.take(p)
			if s.state == inHeader && s.size > maxHeader {
				s.state = inLine
			}
			return
		}
		chunk := p[:i]
		p = p[i+1:]
		if s.state == inHeader {
			s.headerLine(chunk)
			continue
		}
		s.take(chunk)
		switch line := trimCR(s.buf); {
		case s.sum == nil && len(bytes.Trim(line, " \t")) == 0:
			s.reset()
		case s.sum == nil && isHeader(line):
			s.state, s.left, s.line = inHeader, -1, 0
			s.endHeaderLine()
		default:
			s.flush(piece{})
		}
	}
}

// headerLine takes the rest of a line behind the first of a header block.
func (s *splitter) headerLine(chunk []byte) {
	s.take(chunk)
	if s.size > maxHeader {
		s.flush(piece{})
		return
	}
	s.endHeaderLine()
}

// endHeaderLine looks at a line of a header block that is whole now.
func (s *splitter) endHeaderLine() {
	line := trimCR(s.buf[s.line:])
	switch {
	case len(line) == 0 && s.left > 0:
		left := s.left
		s.reset()
		s.state, s.left = inBody, left
		return
	case len(line) == 0: // no length, or a body of nothing
		s.flush(piece{})
		return
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if ok && bytes.EqualFold(name, []byte("Content-Length")) {
		s.left, ok = parseLength(bytes.TrimSpace(value))
	}
	if !ok {
		s.flush(piece{})
		return
	}
	s.take([]byte{'\n'})
	s.line = len(s.buf)
}

func parseLength(digits []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(digits), 10, 62)
	return int64(n), err == nil
}

// isHeader reports a line that can be the first of a header block. No JSON begins so.
func isHeader(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte{':'})
	return ok && (bytes.EqualFold(name, []byte("Content-Length")) || bytes.EqualFold(name, []byte("Content-Type")))
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// take adds to what there is of a line, header block or body.
func (s *splitter) take(p []byte) {
	s.size += int64(len(p))
	if s.sum == nil && s.size > int64(s.limit) {
		room := s.limit - len(s.buf)
		s.buf = append(s.buf, p[:room]...)
		s.sum = sha256.New()
		s.sum.Write(s.buf) // never fails
		p = p[room:]
	}
	if s.sum != nil {
		s.sum.Write(p)
		return
	}
	s.buf = append(s.buf, p...)
}

// flush emits what there is.
func (s *splitter) flush(p piece) {
	whole := s.buf
	if !p.byLength && s.sum == nil {
		whole = trimCR(bytes.TrimSuffix(whole, []byte{'\n'}))
		s.size -= int64(len(s.buf) - len(whole))
	}
	p.payload, p.size = whole, s.size
	if s.sum != nil {
		p.sha256 = hex.EncodeToString(s.sum.Sum(nil))
	}
	s.emit(p)
	s.reset()
}

func (s *splitter) reset() {
	const keep = 64 << 10 // of memory, for the next
	if cap(s.buf) > keep {
		s.buf = nil
	}
	s.state, s.buf, s.size, s.sum, s.line, s.left = inLine, s.buf[:0], 0, nil, 0, 0
}

// end emits what the stream ended within. A last line without its end is a frame.
func (s *splitter) end() {
	if s.size > 0 || s.state == inBody {
		s.flush(piece{partial: s.state != inLine, byLength: s.state == inBody})
	}
}
