package term

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// A typist is somebody who types lines at a terminal.
type typist struct {
	in      *bufio.Reader
	console *Console
	forget  func()        // throws away what was typed and is not read yet
	turn    chan struct{} // capacity 1: somebody is asked
	reading chan typed    // nil unless a read goes on
}

type typed struct {
	text string
	err  error
}

func NewTypist(in io.Reader, console *Console, forget func()) *typist {
	const longest = 64 << 10 // of a line; a terminal hands over 4 KiB
	return &typist{in: bufio.NewReaderSize(in, longest), console: console, forget: forget, turn: make(chan struct{}, 1)}
}

// Begin is that of a prompter.
func (p *typist) Begin(ctx context.Context) (end func(), err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.forget()
	resume := p.console.Withhold()
	return func() {
		resume()
		<-p.turn
	}, nil
}

// Line shows a prompt and returns the line that is typed behind it, without its end. The error is [io.EOF] for Ctrl-D, or the cause of the end of ctx. In the
// latter case the read goes on, as there is no way to end it; what comes of it answers nothing else. It must not be called by two at a time.
func (p *typist) Line(ctx context.Context, prompt string) (string, error) {
	p.console.prompt(prompt)
	for {
		begun := p.reading != nil
		if !begun {
			p.reading = make(chan typed, 1)
			go func(reading chan<- typed) { reading <- p.read() }(p.reading)
		}
		select {
		case line := <-p.reading:
			p.reading = nil
			p.console.answered(line.err == nil)
			if !begun || line.err != nil {
				return line.text, line.err
			}
			p.console.Printf("That line may have been begun for an earlier question, and does not count. Once more, please.")
			p.console.prompt(prompt)
		case <-ctx.Done():
			p.console.answered(false)
			return "", context.Cause(ctx)
		}
	}
}

// read reads a line. What has no end is not one.
func (p *typist) read() typed {
	line, err := p.in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	for cut := err; cut == bufio.ErrBufferFull; {
		_, cut = p.in.ReadSlice('\n') // the rest of it must not be the next answer
	}
	return typed{text, err}
}
