package tap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A rawFrame is one frame of a stream.
type rawFrame struct {
	payload  []byte // without line end or header, truncated to the limit; valid until emit returns
	size     int64  // of the whole frame
	sha256   string // of the whole frame, in hexadecimal, if payload is truncated
	byLength bool   // it had a header block
	partial  bool   // the stream ended within it
}

// A frameSplitter splits a stream that is written to it in chunks into frames. Unlike the codecs of
// package framing it does not read, and does not fail: a frame starts with a header block if its
// first line looks like one, and otherwise is a line. A malformed header block is a frame of its
// own.
type frameSplitter struct {
	limit int
	emit  func(rawFrame)

	begun bool // a frame was emitted
	state splitState
	buf   []byte    // the current line, header block or body, up to limit
	size  int64     // of the whole line, block or body
	sum   hash.Hash // of the whole line, block or body, once it exceeds limit
	line  int       // start of the header block's last line in buf
	left  int64     // rest of the body, -1 while its length is unknown
}

type splitState uint8

const (
	inLine splitState = iota
	inHeader
	inBody
)

// maxHeader is the maximum size of a header block.
const maxHeader = 4 << 10

// write processes the next chunk.
func (s *frameSplitter) write(p []byte) {
	for len(p) > 0 {
		if s.state == inBody {
			n := min(s.left, int64(len(p)))
			s.append(p[:n])
			p = p[n:]
			if s.left -= n; s.left == 0 {
				s.flush(rawFrame{byLength: true})
			}
			continue
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.append(p)
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
		s.append(chunk)
		switch line := trimCR(s.buf); {
		case s.sum == nil && len(bytes.Trim(line, " \t")) == 0:
			s.reset()
		case s.sum == nil && isHeader(line):
			s.state, s.left, s.line = inHeader, -1, 0
			s.endHeaderLine()
		default:
			s.flush(rawFrame{})
		}
	}
}

// whole emits a frame that has no line end and no header.
func (s *frameSplitter) whole(payload []byte) {
	s.append(payload)
	s.flush(rawFrame{})
}

// headerLine adds the rest of a line to a header block.
func (s *frameSplitter) headerLine(chunk []byte) {
	s.append(chunk)
	if s.size > maxHeader {
		s.flush(rawFrame{})
		return
	}
	s.endHeaderLine()
}

// endHeaderLine evaluates the last line of a header block, which is complete.
func (s *frameSplitter) endHeaderLine() {
	line := trimCR(s.buf[s.line:])
	switch {
	case len(line) == 0 && s.left > 0:
		left := s.left
		s.reset()
		s.state, s.left = inBody, left
		return
	case len(line) == 0: // no length, or an empty body
		s.flush(rawFrame{})
		return
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if ok && bytes.EqualFold(name, []byte("Content-Length")) {
		s.left, ok = parseLength(bytes.TrimSpace(value))
	}
	if !ok {
		s.flush(rawFrame{})
		return
	}
	s.append([]byte{'\n'})
	s.line = len(s.buf)
}

func parseLength(digits []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(digits), 10, 62)
	return int64(n), err == nil
}

// isHeader reports whether a line can start a header block. No JSON text can start like one.
func isHeader(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte{':'})
	return ok && (bytes.EqualFold(name, []byte("Content-Length")) ||
		bytes.EqualFold(name, []byte("Content-Type")))
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// append adds to the current line, header block or body.
func (s *frameSplitter) append(p []byte) {
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

// flush emits the current frame.
func (s *frameSplitter) flush(f rawFrame) {
	whole := s.buf
	if !f.byLength && s.sum == nil {
		whole = trimCR(bytes.TrimSuffix(whole, []byte{'\n'}))
		s.size -= int64(len(s.buf) - len(whole))
	}
	if !s.begun { // the sides skip a byte order mark there, too
		s.begun, whole = true, jsonscan.TrimBOM(whole)
	}
	f.payload, f.size = whole, s.size
	if s.sum != nil {
		f.sha256 = hex.EncodeToString(s.sum.Sum(nil))
	}
	s.emit(f)
	s.reset()
}

func (s *frameSplitter) reset() {
	const keep = 64 << 10 // bytes of buf to keep for the next frame
	if cap(s.buf) > keep {
		s.buf = nil
	}
	s.state, s.buf, s.size, s.sum, s.line, s.left = inLine, s.buf[:0], 0, nil, 0, 0
}

// end emits the frame in which the stream ended. A last line without line end is a frame.
func (s *frameSplitter) end() {
	if s.size > 0 || s.state == inBody {
		s.flush(rawFrame{partial: s.state != inLine, byLength: s.state == inBody})
	}
}
