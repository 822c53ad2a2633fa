package config

import (
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/internal/shellwords"
)

// readCommand reads a program, which may include arguments.
func (r *reader) readCommand(v value) {
	s := r.server
	if v.isObject() && r.extensions {
		r.readCommandObject(v)
		return
	}
	if v.isArray() {
		words := r.readStrings(v)
		if len(words) == 0 || words[0] == "" {
			r.errorf(v.start, "the first element of command must be the program")
			return
		}
		s.Command, s.Args = words[0], append(words[1:], s.Args...)
		return
	}
	line := r.readString(v)
	s.Command = line
	if !strings.ContainsAny(line, " \t") || strings.Contains(line, "${") || r.exists(line) {
		return
	}
	words := splitCommand(line)
	if len(words) < 2 {
		r.warnf(v.start, "command contains spaces and is not a file")
		return
	}
	s.Command, s.Args = words[0], append(words[1:], s.Args...)
	r.warnf(v.start,
		"command contains spaces and is not a file: it is split; write its arguments as args")
}

// readCommandObject reads the older form of Zed.
func (r *reader) readCommandObject(v value) {
	for _, m := range r.members(v) {
		r.field = "command." + m.name
		switch m.name {
		case "path":
			r.server.Command = r.readString(m.value)
		case "args":
			r.server.Args = append(r.readStrings(m.value), r.server.Args...)
		case "env":
			if m.data[m.start] != 'n' { // null
				r.server.Env = r.readEnv(m.value)
			}
		default:
			r.warnf(m.offset, "unknown field %.60q; it does nothing here", r.field)
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

// exists reports whether a command is a file.
func (r *reader) exists(command string) bool {
	if rest, ok := cutHome(command); ok {
		command = filepath.Join(r.environment.Home, rest)
	}
	if !filepath.IsAbs(command) {
		command = filepath.Join(r.base(), command)
	}
	return r.environment.Exists(command)
}
