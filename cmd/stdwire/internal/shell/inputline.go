package shell

import (
	"context"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// An inputLine is a parsed line: a command or tool, and its arguments.
type inputLine struct {
	name  string // "" for an empty line
	data  []byte // a JSON object, or nil
	words []string
}

// parseInputLine parses a line. After the first word comes a JSON object or words as in a shell.
// Line ends separate words.
func parseInputLine(text string) (line inputLine, err error) {
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

// cutFirstWord splits a line after its first word and the blanks that follow it.
func cutFirstWord(text string) (first, rest string) {
	var s shellwords.Splitter
	for i := range len(text) {
		wasInWord := s.InWord()
		if s.Add(text[i]); wasInWord && !s.InWord() {
			return text[:i], strings.TrimLeft(text[i:], " \t\r\n")
		}
	}
	return text, ""
}

// isIncomplete reports whether a line ends within a quote or a JSON object, or with a backslash.
func isIncomplete(text string) bool {
	first, rest := cutFirstWord(text)
	if strings.HasPrefix(rest, "{") {
		end, open := objectEnd(rest)
		if open {
			return true
		}
		rest = rest[end:]
	}
	for _, part := range []string{first, rest} {
		var s shellwords.Splitter
		for i := range len(part) {
			s.Add(part[i])
		}
		if s.Open() != 0 {
			return true
		}
	}
	return false
}

// objectEnd returns the end of the JSON object or array that text begins with, valid or not. open
// reports that the text ends within it.
func objectEnd(text string) (end int, open bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, false
			}
		}
	}
	return len(text), true
}

// execute runs a line. The caller flushes its output. The error is a [*command.Failure],
// unexpected, or errQuit.
func (s *Shell) execute(ctx context.Context, text string) error {
	line, err := parseInputLine(text)
	switch {
	case err != nil:
		return err
	case line.name == "" && line.words == nil && line.data == nil:
		return nil
	case strings.HasPrefix(line.name, "."):
		return s.runDotCommand(ctx, line)
	}
	return s.call(ctx, line)
}

// explainWord returns the failure for a first word that is no tool of the server. If it is a
// command of other shells, the failure names that of this one instead of all tools.
func explainWord(line inputLine, err error) error {
	f, ok := errors.AsType[*command.Failure](err)
	if !ok || f.Code != "not_found" {
		return err
	}
	meant := map[string]string{"exit": ".quit", "bye": ".quit", "?": ".help", "ls": ".tools",
		"list": ".tools"}[line.name]
	if _, known := findDotCommand("." + line.name); known {
		meant = "." + line.name
	}
	switch {
	case line.name == "call" && len(line.words) > 0:
		f.Hint = "a tool is called by its name alone: " + strings.Join(line.words, " ")
	case line.name == "clear":
		f.Hint = "commands of the shell begin with a dot, see .help; Ctrl-L clears the screen"
	case meant != "":
		f.Hint = "commands of the shell begin with a dot: " + meant
	default:
		return err
	}
	f.Why = "there is no such tool"
	return f
}

// call calls a tool.
func (s *Shell) call(ctx context.Context, line inputLine) error {
	c := &calls.Call{Target: s.target, Tool: line.name, Timeout: s.timeout}
	var wordErr error // reported only if the tool exists
	for _, word := range line.words {
		if wordErr = c.Word(word); wordErr != nil {
			break
		}
	}
	data := line.data
	if data == nil {
		data = []byte("{}")
	}
	return s.withServer(ctx, func(server *connection) error {
		tool, err := server.tool(ctx, c.Tool)
		if err != nil {
			return explainWord(line, err)
		}
		if wordErr != nil {
			return c.AddTool(wordErr)
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
		return s.printer().ToolResult(c.Tool, result)
	})
}
