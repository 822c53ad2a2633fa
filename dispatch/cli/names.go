package cli

import (
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/near"
)

// below returns the operations whose names begin with these segments, sorted; all operations for
// "".
func (s *surface) below(name string) (ops []*dispatch.Operation) {
	for _, op := range s.catalog.Operations() {
		if name == "" || op.Name() == name || strings.HasPrefix(op.Name(), name+".") {
			ops = append(ops, op)
		}
	}
	return ops
}

// has reports whether name is the name of an operation or the beginning of one.
func (s *surface) has(name string) bool { return len(s.below(name)) > 0 }

// isPrefix reports whether args are words that begin the names of operations, outside of a script.
func (s *surface) isPrefix(l *line, args []string) bool {
	return s.line == 0 && l.op == nil && len(args) > 0 && len(l.words) == len(args) &&
		s.has(l.name())
}

// typed returns the name of an operation as it is typed.
func typed(op *dispatch.Operation) string { return strings.ReplaceAll(op.Name(), ".", " ") }

// resolve returns the operation that the words of a line name, or nil for the commands beside the
// operations.
func (s *surface) resolve(l *line) (*dispatch.Operation, error) {
	if s.isCompletion(l.words) || s.isScript(l.words) {
		return nil, nil
	}
	if err := s.find(l); err != nil {
		return nil, err
	}
	if op, ok := s.catalog.Lookup(l.name()); ok {
		return op, nil
	}
	see := strings.Join(append(append([]string{s.Program}, l.words...), helpFlag), " ")
	if len(l.words) == 0 {
		return nil, dispatch.Errorf(dispatch.MissingParam, "no operation is named; %s lists them",
			see)
	}
	if s.has(l.name()) {
		return nil, dispatch.Errorf(dispatch.MissingParam,
			"more of the operation's name is missing; %s lists what there is", see)
	}
	for n := len(l.words) - 1; n > 0; n-- {
		if op, ok := s.catalog.Lookup(strings.Join(l.words[:n], ".")); ok {
			unexpected := l.words[n]
			l.words, l.op = l.words[:n], op
			return op, l.unexpected(unexpected)
		}
	}
	return nil, dispatch.Errorf(dispatch.UnknownOperation, "there is no such operation%s",
		instead(strings.Join(l.words, " "), s.nearby(l.words)))
}

// find calls Find if no operation begins with the words.
func (s *surface) find(l *line) error {
	if s.Find == nil || len(l.words) == 0 || s.has(l.name()) {
		return nil
	}
	for n := range l.words {
		if _, ok := s.catalog.Lookup(strings.Join(l.words[:n], ".")); ok {
			return nil // resolve reports the words after the operation
		}
	}
	words, err := s.Find(l.words)
	if err == nil {
		l.words = words
	}
	return err
}

// nearby returns the operations that begin with as many of the words as possible, as suggestions
// for words that name none.
func (s *surface) nearby(words []string) (all []string) {
	for n := len(words) - 1; n >= 0; n-- {
		if ops := s.below(strings.Join(words[:n], ".")); len(ops) > 0 {
			for _, op := range ops {
				all = append(all, typed(op))
			}
			return all
		}
	}
	return nil
}

// next returns the segments that may follow a name, sorted, each with the first operation that it
// leads to.
func (s *surface) next(name string) (segments []string, first []*dispatch.Operation) {
	seen := map[string]bool{"": true}
	for _, op := range s.below(name) {
		rest := strings.TrimPrefix(strings.TrimPrefix(op.Name(), name), ".")
		if segment, _, _ := strings.Cut(rest, "."); !seen[segment] {
			seen[segment] = true
			segments, first = append(segments, segment), append(first, op)
		}
	}
	return segments, first
}

// instead returns the end of a message about an unknown word: a suggestion, or "".
func instead(word string, candidates []string) string {
	if hint := near.Instead(word, candidates); hint != "" {
		return "; " + hint
	}
	return ""
}
