package shell

import (
	"context"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A shellLine is what was typed: a command or a tool, and what it is given.
type shellLine struct {
	name  string // "" if there is nothing
	data  []byte // a JSON object; nil if none was given
	words []string
}

// parseShellLine splits a line. Behind the first word, a JSON object may stand as it is; all else are words as in a shell. Line ends, which can only have been
// pasted, part words like blanks.
func parseShellLine(text string) (line shellLine, err error) {
	first, rest := cutFirstWord(text)
	if strings.HasPrefix(rest, "{") {
		end, err := jsonscan.Value([]byte(rest), 0)
		if err != nil {
			return line, command.BadArgs("the arguments: %v", err)
		}
		line.data, rest = arguments.Compact([]byte(rest[:end])), rest[end:]
		if rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") {
			return line, command.BadArgs("the arguments: %.20q follows the object", rest)
		}
	}
	for _, part := range []string{first, rest} {
		var s shellwords.Splitter
		for i := range len(part) {
			s.Add(part[i])
		}
		switch open := s.Open(); open {
		case 0:
		case '\\':
			return line, command.Usagef(`nothing follows the last \`)
		default:
			return line, command.Usagef("the quote %c is never closed", open)
		}
		for _, word := range s.Words() {
			line.words = append(line.words, word.Text)
		}
	}
	if len(line.words) > 0 {
		line.name, line.words = line.words[0], line.words[1:]
	}
	return line, nil
}

// cutFirstWord parts a line behind its first word, and the blanks behind that.
func cutFirstWord(text string) (first, rest string) {
	var s shellwords.Splitter
	for i := range len(text) {
		was := s.InWord()
		if s.Add(text[i]); was && !s.InWord() {
			return text[:i], strings.TrimLeft(text[i:], " \t\r\n")
		}
	}
	return text, ""
}

// execute runs a line. What it prints has still to be flushed. The error is a [*failure], unexpected, or errQuit.
func (s *Shell) execute(ctx context.Context, text string) error {
	line, err := parseShellLine(text)
	switch {
	case err != nil:
		return err
	case line.name == "" && line.words == nil && line.data == nil:
		return nil
	case strings.HasPrefix(line.name, "."):
		return s.command(ctx, line)
	}
	return s.call(ctx, line)
}

// call calls a tool.
func (s *Shell) call(ctx context.Context, line shellLine) error {
	c := &calls.Call{Target: s.target, Tool: line.name, Timeout: s.timeout}
	for _, word := range line.words {
		if err := c.Word(word); err != nil {
			return c.About(err)
		}
	}
	data := line.data
	if data == nil {
		data = []byte("{}")
	}
	return s.on(ctx, func(server *connection) error {
		tool, err := server.tool(ctx, c.Tool)
		if err != nil {
			return err
		}
		arguments, err := c.Arguments(s.Std, tool, data)
		if err != nil {
			return err
		}
		result, err := c.Send(ctx, s.Std, server.Client, arguments)
		s.trace.Drain()
		if err != nil {
			return err
		}
		return s.view().ToolResult(c.Tool, result)
	})
}
