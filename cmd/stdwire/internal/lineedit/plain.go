package lineedit

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// plain reads lines from what is no terminal, or one that can do nothing but show lines.
type plain struct {
	in      *bufio.Reader
	prompts io.Writer      // nil: there are none
	reading chan plainLine // nil unless a read goes on
}

type plainLine struct {
	text string
	err  error
}

func newPlain(in io.Reader) plain { return plain{in: bufio.NewReader(in)} }

// next reads a line. The error is errAside if somebody wants e to be suspended.
func (p *plain) next(ctx context.Context, prompt string, e *Editor) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case e.wanted():
		return "", errAside
	}
	p.show(prompt)
	for {
		select {
		case line := <-p.begun():
			p.reading = nil
			return line.text, line.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-e.nudge:
			if e.wanted() {
				p.show("\n")
				return "", errAside
			}
		}
	}
}

// answer reads a line that is begun from now on.
func (p *plain) answer(ctx context.Context, prompt string) (string, error) {
	for {
		early := p.reading != nil
		p.show(prompt)
		select {
		case line := <-p.begun():
			p.reading = nil
			if !early || line.err != nil {
				return line.text, line.err
			}
			p.show("That line may have been begun before the question, and does not count. Once more, please.\n")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (p *plain) show(text string) {
	if p.prompts != nil {
		_, _ = io.WriteString(p.prompts, text)
	}
}

// begun returns where the line comes that is being read, which nothing can end.
func (p *plain) begun() <-chan plainLine {
	if p.reading == nil {
		p.reading = make(chan plainLine, 1)
		go func(reading chan<- plainLine) {
			text, err := p.read()
			reading <- plainLine{text, err}
		}(p.reading)
	}
	return p.reading
}

// read reads a line. The last one need not have a line end.
func (p *plain) read() (string, error) {
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
