package lineedit

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// plainReader reads lines from a file or pipe, or from a terminal without escape sequences.
type plainReader struct {
	in        *bufio.Reader
	promptOut io.Writer      // nil for no prompts
	reading   chan plainLine // nil unless a read is in progress
}

type plainLine struct {
	text string
	err  error
}

func newPlain(in io.Reader) plainReader { return plainReader{in: bufio.NewReader(in)} }

// next reads a line. The error is errSuspended if [Editor.Suspend] has been called.
func (p *plainReader) next(ctx context.Context, prompt string, e *Editor) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case e.suspendRequested():
		return "", errSuspended
	}
	p.show(prompt)
	for {
		select {
		case line := <-p.startRead():
			p.reading = nil
			return line.text, line.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-e.suspendRequest:
			if e.suspendRequested() {
				p.show("\n")
				return "", errSuspended
			}
		}
	}
}

// readAnswer reads a line that was not begun before the call.
func (p *plainReader) readAnswer(ctx context.Context, prompt string) (string, error) {
	for {
		wasReading := p.reading != nil
		p.show(prompt)
		select {
		case line := <-p.startRead():
			p.reading = nil
			if !wasReading || line.err != nil {
				return line.text, line.err
			}
			p.show("The line may have been begun before the question, so it is not an answer. " +
				"Please answer again.\n")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (p *plainReader) show(text string) {
	if p.promptOut != nil {
		_, _ = io.WriteString(p.promptOut, text)
	}
}

// startRead starts a read unless one is in progress, and returns the channel for its line. Nothing
// can interrupt the read.
func (p *plainReader) startRead() <-chan plainLine {
	if p.reading == nil {
		p.reading = make(chan plainLine, 1)
		go func(reading chan<- plainLine) {
			text, err := p.read()
			reading <- plainLine{text, err}
		}(p.reading)
	}
	return p.reading
}

// read reads a line. The last line need not have a line end.
func (p *plainReader) read() (string, error) {
	var b strings.Builder
	for tooLong := false; ; {
		piece, err := p.in.ReadSlice('\n')
		if tooLong = tooLong || b.Len()+len(piece) > MaxLine+len("\n"); !tooLong {
			b.Write(piece)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case tooLong && (err == nil || err == io.EOF):
			return "", ErrTooLong
		case err == nil || err == io.EOF && b.Len() > 0:
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
		return "", err
	}
}
