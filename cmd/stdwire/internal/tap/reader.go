package tap

import (
	"errors"
	"fmt"
	"io"

	"github.com/stdwire/stdwire/framing"
)

// ErrCut is the error of a [Reader] when the last line of a recording is not whole: what wrote it was killed, or its disk was full. What came before is good.
var ErrCut = errors.New("the recording ends in the midst of a line")

// ErrNoRecording is the error of a [Reader] when what it reads is none.
var ErrNoRecording = errors.New("this is no recording of stdwire tap")

// maxLine is how long a line can be. A text can take six bytes for one.
const maxLine = 6*MaxFrame + 64<<10

// A Reader reads a recording. It is not safe for concurrent use.
type Reader struct {
	lines  framing.Codec
	source *lastByte
	buf    []byte
	n      int
	err    error
}

// A lastByte remembers what a stream ended with.
type lastByte struct {
	io.Reader
	last byte
}

func (b *lastByte) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.last = p[n-1]
	}
	return n, err
}

// NewReader returns a reader of a recording.
func NewReader(r io.Reader) *Reader {
	source := &lastByte{Reader: r}
	return &Reader{lines: framing.Newline(source, framing.Limits{MaxFrame: maxLine}), source: source}
}

// Next returns the next record, and the line that it is, which is valid until the next call. The first is always of the kind [Start]. At the end the error is io.EOF or [ErrCut]; any
// other names the line, or is that of the stream. Behind an error there is nothing more.
func (r *Reader) Next() (*Record, []byte, error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	record, err := r.next()
	if err != nil {
		r.err = err
		return nil, nil, err
	}
	return record, r.buf, nil
}

func (r *Reader) next() (*Record, error) {
	line, err := r.lines.ReadFrame(r.buf)
	r.buf = line
	switch {
	case r.n == 0 && (err == io.EOF || errors.Is(err, framing.ErrTooLarge)):
		return nil, ErrNoRecording
	case errors.Is(err, framing.ErrTooLarge):
		return nil, fmt.Errorf("line %d of the recording is longer than %d bytes", r.n+1, maxLine)
	case err != nil:
		return nil, err
	}
	r.n++
	record, err := parse(line)
	switch {
	case r.n == 1 && (err != nil || record.Kind != Start):
		return nil, ErrNoRecording
	case err != nil && r.unfinished():
		return nil, ErrCut
	case err != nil:
		return nil, fmt.Errorf("line %d of the recording: %w", r.n, err)
	}
	return record, nil
}

// unfinished reports whether the line was the last and has no end.
func (r *Reader) unfinished() bool {
	_, err := r.lines.ReadFrame(nil)
	return err == io.EOF && r.source.last != '\n'
}
