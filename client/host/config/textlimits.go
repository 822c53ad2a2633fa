package config

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

// minTextLimit is the least limit of the text of results, in characters. A preview of a result
// needs some hundred to say what it leaves out.
const minTextLimit = 2000

// allTools stands for the tools that have no limit of their own.
const allTools = "*"

// readTextLimits reads a limit of the text of results, or an object of limits by tool.
func (r *reader) readTextLimits(s *Server, v jsonedit.Value) {
	s.MaxResultText = map[string]int{}
	if !v.IsObject() {
		r.readTextLimit(s, allTools, v)
		return
	}
	member := r.field
	for _, m := range r.members(v) {
		r.field = fmt.Sprintf("%s.%.60s", member, m.Name)
		r.readTextLimit(s, m.Name, m.Value)
	}
}

func (r *reader) readTextLimit(s *Server, tool string, v jsonedit.Value) {
	n, ok := v.AsInt()
	if !ok || n != 0 && (n < minTextLimit || n > maxSize) {
		r.errorf(v.Start, "%s must be a whole number of characters, from %d to %d, or 0", r.field,
			minTextLimit, maxSize)
		return
	}
	s.MaxResultText[tool] = int(n)
}

// encodeTextLimits returns the limits of the text of results in the shorter form.
func encodeTextLimits(s *Server) any {
	if limit, given := s.MaxResultText[allTools]; given && len(s.MaxResultText) == 1 {
		return limit
	}
	return valueIf(s.MaxResultText, len(s.MaxResultText) > 0)
}
