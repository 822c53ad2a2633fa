package main

import (
	"context"
	"strings"

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
			return line, badArgs("the arguments: %v", err)
		}
		line.data, rest = compact([]byte(rest[:end])), rest[end:]
		if rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") {
			return line, badArgs("the arguments: %.20q follows the object", rest)
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
			return line, usagef(`nothing follows the last \`)
		default:
			return line, usagef("the quote %c is never closed", open)
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
func (s *shell) execute(ctx context.Context, text string) error {
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
func (s *shell) call(ctx context.Context, line shellLine) error {
	c := &call{target: s.target, tool: line.name, timeout: s.timeout}
	for _, word := range line.words {
		if err := c.word(word); err != nil {
			return c.about(err)
		}
	}
	data := line.data
	if data == nil {
		data = []byte("{}")
	}
	return s.on(ctx, func(server *connection) error {
		tool, err := server.tool(ctx, c.tool)
		if err != nil {
			return err
		}
		arguments, err := c.arguments(s.std, tool, data)
		if err != nil {
			return err
		}
		result, err := c.send(ctx, s.std, server.Client, arguments)
		s.trace.drain()
		if err != nil {
			return err
		}
		return s.view().toolResult(c.tool, result)
	})
}
