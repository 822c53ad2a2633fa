package term

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// A lineReader is the Prompter for lines that a terminal delivers.
type lineReader struct {
	in      *bufio.Reader
	console *Console
	discard func()          // discards typed input that is not yet read
	asking  chan struct{}   // capacity 1: held while a question is asked
	reading chan readResult // not nil while a read is in progress
}

type readResult struct {
	text string
	err  error
}

// NewLineReader returns a Prompter that reads lines of in and shows its prompts on console. discard
// is called before each question.
func NewLineReader(in io.Reader, console *Console, discard func()) *lineReader {
	const longest = 64 << 10 // bytes of a line; terminals limit it to 4 KiB
	return &lineReader{in: bufio.NewReaderSize(in, longest), console: console, discard: discard,
		asking: make(chan struct{}, 1)}
}

// Begin implements [Prompter].
func (p *lineReader) Begin(ctx context.Context) (end func(), err error) {
	select {
	case p.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.discard()
	resume := p.console.HideStatus()
	return func() {
		resume()
		<-p.asking
	}, nil
}

// Line implements [Prompter]. A read cannot be interrupted: when ctx ends first, the read goes on,
// and the line that it returns later is not taken as an answer. Line must not be called
// concurrently.
func (p *lineReader) Line(ctx context.Context, prompt string) (string, error) {
	p.console.prompt(prompt)
	for {
		begun := p.reading != nil
		if !begun {
			p.reading = make(chan readResult, 1)
			go func(reading chan<- readResult) { reading <- p.read() }(p.reading)
		}
		select {
		case line := <-p.reading:
			p.reading = nil
			p.console.endPrompt(line.err == nil)
			if !begun || line.err != nil {
				return line.text, line.err
			}
			p.console.Printf(
				"That line may have been typed for an earlier question. Please type it again.")
			p.console.prompt(prompt)
		case <-ctx.Done():
			p.console.endPrompt(false)
			return "", context.Cause(ctx)
		}
	}
}

// read reads one line. An unterminated line at the end of input is an error.
func (p *lineReader) read() readResult {
	line, err := p.in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	for cut := err; cut == bufio.ErrBufferFull; {
		_, cut = p.in.ReadSlice('\n') // the rest must not become the next answer
	}
	return readResult{text, err}
}
