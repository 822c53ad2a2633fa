package config

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// readCommand reads a program, which may include arguments.
func (r *reader) readCommand(s *Server, v jsonedit.Value) {
	if v.IsObject() && r.extensions {
		r.readCommandObject(s, v)
		return
	}
	if v.IsArray() {
		words := r.readStrings(v)
		if len(words) == 0 || words[0] == "" {
			r.errorf(v.Start, "the first element of command must be the program")
			return
		}
		s.Command, s.Args = words[0], append(words[1:], s.Args...)
		return
	}
	line := r.readString(v)
	s.Command = line
	if !strings.ContainsAny(line, " \t") || strings.Contains(line, "${") || r.isCommandFile(line) {
		return
	}
	words := splitCommand(line)
	if len(words) < 2 {
		r.warnf(v.Start, "command contains spaces and is not a file")
		return
	}
	s.Command, s.Args = words[0], append(words[1:], s.Args...)
	r.warnf(v.Start,
		"command contains spaces and is not a file: it is split; write its arguments as args")
}

// readCommandObject reads the older form of Zed.
func (r *reader) readCommandObject(s *Server, v jsonedit.Value) {
	for _, m := range r.members(v) {
		r.field = "command." + m.Name
		switch m.Name {
		case "path":
			s.Command = r.readString(m.Value)
		case "args":
			s.Args = append(r.readStrings(m.Value), s.Args...)
		case "env":
			if m.Data[m.Start] != 'n' { // null
				s.Env = r.readEnv(m.Value)
			}
		default:
			r.warnf(m.Offset, "unknown field %.60q; it does nothing here", r.field)
		}
	}
}

// splitCommand splits a command line into words. It returns nil if a quotation mark is open, or for
// a comment, a line end or a backslash, which may be part of a Windows path.
func splitCommand(line string) (words []string) {
	if strings.ContainsAny(line, "\\\n") {
		return nil
	}
	var s shellwords.Splitter
	for i := range len(line) {
		s.Add(line[i])
	}
	if s.Open() != 0 || s.InComment() {
		return nil
	}
	for _, word := range s.Words() {
		words = append(words, word.Text)
	}
	return words
}
