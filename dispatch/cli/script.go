package cli

import (
	"context"
	"io"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
)

// scriptCommand stands in the place of an operation for those on standard input, unless the catalog
// has one of that name.
const scriptCommand = "-"

func (s *surface) isScript(words []string) bool {
	return len(words) > 0 && words[0] == scriptCommand && !s.has(scriptCommand)
}

// script runs the command lines of standard input one after another, and returns the exit code:
// that of the first which fails, or 0 if none does. A person who types them may go on after one
// that failed.
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
			_, _ = io.WriteString(s.Err, "\n") // the prompt is still there
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

// flush hands over what a writer keeps, if it is one that does: who reads must not wait for what
// the next line prints.
func flush(w io.Writer) error {
	if buffered, ok := w.(interface{ Flush() error }); ok {
		return buffered.Flush()
	}
	return nil
}

// refuseScript says what is wrong with a command line that names scriptCommand, if anything is.
func (s *surface) refuseScript(l *line) error {
	switch {
	case s.line > 0:
		return dispatch.Errorf(dispatch.InvalidInput,
			"standard input is being read for command lines already")
	case len(l.words) > 1:
		return dispatch.Errorf(dispatch.InvalidInput,
			"unexpected argument %q; what is to be run comes from standard input", l.words[1])
	}
	return nil
}

// scriptManual is the help of scriptCommand.
func (s *surface) scriptManual() string {
	var b strings.Builder
	b.WriteString("usage: " + s.Program + " [-o text|json] -\n")
	paragraphs(&b, `Run command lines from standard input, one after another, each as soon as it is complete, until one fails; at a terminal, to the end. What one opens, a session, is there for the next.

A line is what may follow `+s.Program+` on a command line, in words as in a shell: blanks separate them, quotes and backslashes keep what they are made of, a backslash at the end of a line joins it with the next, # begins a comment. Nothing is expanded.

Standard input being taken, - and @- are no values there, and nobody is asked: what has to be confirmed wants its `+yesFlag+`.

  `+s.Program+` - <<'END'
  OPERATION --FLAG 'two words'
  OPERATION
  END`)
	return b.String()
}
