package framing

import (
	"bytes"
	"io"
	"slices"
)

// A Format is a framing with a name.
type Format struct {
	Name    string // as flags and recordings have it
	Framing Framing

	// begins are the ASCII texts, in any case, one of which the first frame of a stream begins
	// with. [Auto] and [Resync] detect the framing by them. JSON text must begin with none.
	begins []string
	// amongText means that Resync finds the frames among other text.
	amongText bool
}

// formats are the framings that both sides of a stream may use. The first is used until another one
// is detected.
var formats = []Format{
	{Name: "newline", Framing: Newline, amongText: true},
	{Name: "content-length", Framing: ContentLength, begins: []string{headerPrefix},
		amongText: true},
}

// Formats returns the framings that [Auto] detects. The first is the one that it assumes.
func Formats() []Format { return slices.Clone(formats) }

// FormatOf returns the framing in which a codec appends: for one of [Auto], the framing that is
// detected so far. It is the zero value if the codec is of none of [Formats].
func FormatOf(c Codec) Format {
	payload := []byte("0") // within every limit
	frame, _ := c.AppendFrame(nil, payload)
	for _, f := range formats {
		own, _ := f.Framing(nil, Limits{}).AppendFrame(nil, payload)
		if bytes.Equal(own, frame) {
			return f
		}
	}
	return Format{}
}

// detect returns the framing whose first frame begins as the unread part of the stream does, or
// nil. It waits for as few bytes as needed, so that a short first line is not delayed.
func (s *source) detect(formats []Format) (*Format, error) {
	for n := 1; ; n++ {
		first, err := s.br.Peek(n)
		switch {
		case err == io.EOF && n > 1:
			return nil, nil
		case err != nil:
			return nil, err
		}
		more := false
		for i := range formats {
			for _, text := range formats[i].begins {
				same := bytes.EqualFold(first, []byte(text[:min(n, len(text))]))
				if same && n == len(text) {
					return &formats[i], nil
				}
				more = more || same
			}
		}
		if !more {
			return nil, nil
		}
	}
}
