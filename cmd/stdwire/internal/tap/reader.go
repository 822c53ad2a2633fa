package tap

import (
	"errors"
	"fmt"
	"io"

	"github.com/stdwire/stdwire/framing"
)

// ErrTruncated is the error of a [Reader] when the last line of a recording is incomplete, because
// its writer was killed or the disk was full. The lines before it are valid.
var ErrTruncated = errors.New("the recording ends in the middle of a line")

// ErrNotRecording is the error of a [Reader] whose input is not a recording.
var ErrNotRecording = errors.New("not a recording of stdwire tap")

// maxLine is the maximum length of a line. An escape in a text takes up to six bytes for one.
const maxLine = 6*MaxFrame + 64<<10

// A Reader reads a recording. It is not safe for concurrent use.
type Reader struct {
	lines  framing.Codec
	source *lastByteReader
	buf    []byte
	n      int
	err    error
}

// A lastByteReader keeps the last byte read.
type lastByteReader struct {
	io.Reader
	last byte
}

func (b *lastByteReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.last = p[n-1]
	}
	return n, err
}

// NewReader returns a reader of a recording.
func NewReader(r io.Reader) *Reader {
	source := &lastByteReader{Reader: r}
	return &Reader{lines: framing.Newline(source, framing.Limits{MaxFrame: maxLine}),
		source: source}
}

// Next returns the next record and its line, which is valid until the next call. The first record
// is always of the kind [Start]. At the end of the recording the error is [io.EOF] or
// [ErrTruncated]; another error names the line, or is the error of the stream. After an error, Next
// returns the same error again.
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
		return nil, ErrNotRecording
	case errors.Is(err, framing.ErrTooLarge):
		return nil, fmt.Errorf("line %d of the recording is longer than %d bytes", r.n+1, maxLine)
	case err != nil:
		return nil, err
	}
	r.n++
	record, err := ParseRecord(line)
	switch {
	case r.n == 1 && (err != nil || record.Type != Start):
		return nil, ErrNotRecording
	case err != nil && r.isTruncated():
		return nil, ErrTruncated
	case err != nil:
		return nil, fmt.Errorf("line %d of the recording: %w", r.n, err)
	}
	return record, nil
}

// isTruncated reports whether the current line is the last and has no line end.
func (r *Reader) isTruncated() bool {
	_, err := r.lines.ReadFrame(nil)
	return err == io.EOF && r.source.last != '\n'
}
