package cli

import (
	"context"
	"io"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
)

// scriptCommand, in place of an operation, runs command lines from standard input, unless the
// catalog has an operation of that name.
const scriptCommand = "-"

func (s *surface) isScript(words []string) bool {
	return len(words) > 0 && words[0] == scriptCommand && !s.has(scriptCommand)
}

// script runs the command lines of standard input one after another. It stops at the first failure
// and returns its exit code, or 0. At a terminal it continues after a failure.
func (s *surface) script(ctx context.Context, l *line) int {
	inner := *s
	inner.output, inner.In, inner.InTerminal = l.output, nil, false
	person := s.InTerminal && s.ErrTerminal
	lines := &splitter{in: &byteReader{in: s.In}}
	for {
		if err := flush(s.Out); err != nil {
			return inner.exit(&line{output: l.output}, cannotPrint(err))
		}
		if person {
			_, _ = io.WriteString(s.Err, printable.Line(s.Program)+"> ")
		}
		c, err := await(ctx, lines.next)
		if err != nil && person {
			_, _ = io.WriteString(s.Err, "\n") // ends the line of the prompt
		}
		switch inner.line = c.line; {
		case err == io.EOF:
			return 0
		case err == errInterrupted:
			return s.exit(l,
				dispatch.Errorf(dispatch.Cancelled, "interrupted while reading standard input"))
		case err != nil:
			return inner.exit(&line{output: l.output}, err)
		case len(c.words) == 0:
			continue
		}
		if code := inner.run(ctx, c.words); code != 0 && (!person || ctx.Err() != nil) {
			return code
		}
	}
}

// flush flushes a writer that has a method Flush, because the reader of its output must not wait
// for the next command line.
func flush(w io.Writer) error {
	if buffered, ok := w.(interface{ Flush() error }); ok {
		return buffered.Flush()
	}
	return nil
}

// refuseScript returns the error of a command line that has scriptCommand and cannot be run.
func (s *surface) refuseScript(l *line) error {
	switch {
	case s.line > 0:
		return dispatch.Errorf(dispatch.InvalidInput,
			"standard input is being read for command lines already")
	case len(l.words) > 1:
		return dispatch.Errorf(dispatch.InvalidInput,
			"unexpected argument %q; the commands come from standard input", l.words[1])
	}
	return nil
}

// scriptManual returns the help of scriptCommand.
func (s *surface) scriptManual() string {
	var b strings.Builder
	b.WriteString("usage: " + s.Program + " [-o text|json] -\n")
	paragraphs(&b, `Run command lines from standard input, each as soon as it is complete, until one fails; at a terminal, to the end. A session that one opens is available to the next.

A line is what may follow `+s.Program+` on a command line, split into words as in a shell: blanks separate words, quotes and backslashes escape characters, a backslash at the end of a line joins it with the next, # begins a comment. Nothing is expanded.

Flags cannot read standard input there, and no questions are asked: confirm with `+yesFlag+`.

  `+s.Program+` - <<'END'
  OPERATION --FLAG 'two words'
  OPERATION
  END`, s.columns())
	return b.String()
}
