package lineedit

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// plain reads lines from what is no terminal.
type plain struct {
	in      *bufio.Reader
	prompts io.Writer // nil: there are none
}

func newPlain(in io.Reader) plain { return plain{in: bufio.NewReader(in)} }

func (p *plain) next(ctx context.Context, prompt string) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if p.prompts != nil {
		_, _ = io.WriteString(p.prompts, prompt)
	}
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := p.read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
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
