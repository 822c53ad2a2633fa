package tap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"iter"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A rawFrame is one frame of a stream.
type rawFrame struct {
	payload []byte // without line end or header, truncated to the limit; valid until emit returns
	size    int64  // of the whole frame
	sha256  string // of the whole frame, in hexadecimal, if payload is truncated
	framing string // name of the framing; "" for a line
	partial bool   // the stream ended within it
}

// A frameSplitter splits a stream that is written to it in chunks into frames: those of
// [framing.Resync], lines, and header blocks without a valid length. If a Content-Length frame is
// not JSON, the frames in it are emitted after it.
type frameSplitter struct {
	limit int
	emit  func(rawFrame)

	next   func() (struct{}, bool) // runs the codec until it has read chunk; nil before the first
	chunk  []byte                  // what the codec has not read yet
	codec  framing.Codec           // that of next
	framed string                  // the framing of frames that are not lines, once known
	ended  bool
	last   *rawFrame // of a stream that has ended, not emitted yet

	// A frame over limit that is being read:
	head []byte // up to limit
	sum  hash.Hash
	long rawFrame // its size and framing
}

// write processes the next chunk.
func (s *frameSplitter) write(p []byte) {
	if s.next == nil {
		s.next, _ = iter.Pull(s.run) // end ends it
	}
	s.chunk = p
	s.next()
}

// whole emits a frame that has no line end and no header.
func (s *frameSplitter) whole(payload []byte) { s.frame(jsonscan.TrimBOM(payload), false) }

// end emits the frame in which the stream ended. A last line without line end is a frame.
func (s *frameSplitter) end() {
	if s.ended = true; s.next != nil {
		s.next()
	}
}

// run reads the chunks with a codec until the stream ends. It yields when it needs the next one.
func (s *frameSplitter) run(yield func(struct{}) bool) {
	s.codec = framing.Resync(s.isFrame, s.add)(&chunkReader{s, yield},
		framing.Limits{MaxFrame: s.limit})
	var buf []byte
	for {
		var err error
		buf, err = s.codec.ReadFrame(buf)
		if _, skipped := errors.AsType[*framing.FrameError](err); err == nil || skipped {
			s.flushLong()
			const keep = 64 << 10 // bytes of buf to keep for the next frame
			if cap(buf) > keep {
				buf = nil
			}
			continue
		}
		if s.flushLong(); s.last != nil {
			s.last.partial = err != io.EOF
			s.emit(*s.last)
		}
		return
	}
}

// isFrame emits a line or a payload. It reports whether no frame is to be searched for in it.
func (s *frameSplitter) isFrame(text []byte, framed bool) bool {
	s.frame(text, framed)
	return !framed || isJSON(text)
}

// frame emits a frame that is read whole, or keeps it if it may be that in which the stream ended.
func (s *frameSplitter) frame(text []byte, framed bool) {
	f := rawFrame{payload: text, size: int64(len(text)), framing: s.framing(framed)}
	if len(text) > s.limit {
		sum := sha256.Sum256(text)
		f.payload, f.sha256 = text[:s.limit], hex.EncodeToString(sum[:])
	}
	s.pass(f)
}

// framing returns the framing of a frame, or "" for a line.
func (s *frameSplitter) framing(framed bool) string {
	if !framed {
		return ""
	}
	if s.framed == "" {
		s.framed = framing.FormatOf(s.codec).Name
	}
	return s.framed
}

// pass emits a frame. After the end of the stream it emits the one before: only then is it known
// whether the stream ended within the last one.
func (s *frameSplitter) pass(f rawFrame) {
	if !s.ended {
		s.emit(f)
		return
	}
	if s.last != nil {
		s.emit(*s.last)
	}
	f.payload = bytes.Clone(f.payload)
	s.last = &f
}

// add adds a part of a frame over limit.
func (s *frameSplitter) add(part []byte, framed bool) {
	if s.sum == nil {
		s.sum = sha256.New()
	}
	s.sum.Write(part) // never fails
	s.head = append(s.head, part[:min(len(part), s.limit-len(s.head))]...)
	s.long.size, s.long.framing = s.long.size+int64(len(part)), s.framing(framed)
}

// flushLong emits the frame over limit, if one was read.
func (s *frameSplitter) flushLong() {
	if s.sum == nil {
		return
	}
	if s.long.payload = s.head; s.long.size > int64(s.limit) {
		s.long.sha256 = hex.EncodeToString(s.sum.Sum(nil))
	}
	f := s.long
	s.head, s.sum, s.long = nil, nil, rawFrame{}
	s.pass(f)
}

// A chunkReader reads the chunks of a frameSplitter.
type chunkReader struct {
	s     *frameSplitter
	yield func(struct{}) bool
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.s.chunk) == 0 {
		if r.s.ended || !r.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(p, r.s.chunk)
	r.s.chunk = r.s.chunk[n:]
	return n, nil
}
