package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

const maxAnswer = 4 << 10 // bytes, as many as a terminal hands over as one line

// confirm asks whoever sits at the terminal whether to go on with a call that was refused because
// nobody had confirmed it. The error is nil if so. Otherwise it is the refusal, with what came of
// it or with the way out.
func (s *surface) confirm(ctx context.Context, l *line, refused *dispatch.Error) error {
	message := sentence(refused.Message)
	if !s.InTerminal || !s.ErrTerminal || l.readInput {
		if l.op.Destructive() {
			message += " Give " + yesFlag + " to confirm it."
		}
		return withMessage(refused, message)
	}
	_, _ = io.WriteString(s.Err, s.headed(l, message+" Go on? [y/N]")+" ")
	answer, err := await(ctx, func() (string, error) { return readAnswer(s.In) })
	if err != nil {
		_, _ = io.WriteString(s.Err, "\n") // the question is still there
	}
	switch {
	case err == errInterrupted:
		return dispatch.Errorf(dispatch.Cancelled, "interrupted while waiting for an answer")
	case err == nil &&
		slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))):
		return nil
	}
	return withMessage(refused, message+" It was declined.")
}

// readAnswer reads a line. Without its end it does not count: it is an error.
func readAnswer(in io.Reader) (string, error) {
	var line []byte
	for bytes := (&byteReader{in: in}); len(line) < maxAnswer; {
		b, err := bytes.ReadByte()
		if err != nil || b == '\n' {
			return string(line), err
		}
		line = append(line, b)
	}
	return "", io.ErrShortBuffer
}

func withMessage(e *dispatch.Error, message string) *dispatch.Error {
	c := *e
	c.Message = message
	return &c
}

// sentence ends a text with a full stop, unless it ends with something of the kind.
func sentence(text string) string {
	if text = strings.TrimSpace(text); strings.HasSuffix(text, "?") ||
		strings.HasSuffix(text, "!") {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}
