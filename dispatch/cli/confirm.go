package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

const maxAnswer = 4 << 10 // bytes; terminals limit a line to as many

// confirm asks the person at the terminal to confirm a call that was refused with
// confirmation_required. It returns nil if the person agrees, and otherwise the refusal, with a
// message that says that it was declined or how to confirm it.
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
		_, _ = io.WriteString(s.Err, "\n") // ends the line of the question
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

// readAnswer reads a line. A line without its end is an error.
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

// sentence adds a full stop to a text that does not end with one, or with a question or exclamation
// mark.
func sentence(text string) string {
	if text = strings.TrimSpace(text); strings.HasSuffix(text, "?") ||
		strings.HasSuffix(text, "!") {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}
