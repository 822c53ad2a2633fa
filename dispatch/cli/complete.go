package cli

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
)

// completeCommand is the command that completion scripts call. Its arguments are the words after
// the program, up to the cursor; it completes the last of them, which may be empty. It prints one
// candidate a line, followed by a tab and an explanation. If it prints nothing, the shell completes
// file names.
const completeCommand = "__complete"

// A candidate is a completion of the current word.
type candidate struct{ word, doc string }

// complete returns the output of completeCommand.
func (s *surface) complete(words []string) string {
	// The words of the program name after the first are among the typed words.
	for _, word := range strings.Fields(s.Program)[1:] {
		if len(words) == 0 || words[0] != word {
			return ""
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	before, current := words[:len(words)-1], words[len(words)-1]
	var b strings.Builder
	for _, c := range s.candidates(before, current) {
		if !strings.HasPrefix(c.word, current) || printable.Text(c.word) != c.word ||
			strings.ContainsAny(c.word, "\t\n") {
			continue
		}
		b.WriteString(c.word)
		if doc := printable.FirstSentence(c.doc); doc != "" {
			b.WriteString("\t" + doc)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// candidates returns the candidates for the word after before. The current word limits the kinds of
// candidates, not yet the candidates.
func (s *surface) candidates(before []string, current string) (all []candidate) {
	l, _ := s.parse(before) // the valid part of it
	if l.op == nil && s.isCompletion(l.words) {
		if len(before) > 1 {
			return nil
		}
		return words(shells)
	}
	if l.wants != "" {
		return l.values(l.wants)
	}
	if name, _, ok := strings.Cut(current, "="); ok && current[0] == '-' {
		for _, c := range l.values(name) {
			all = append(all, candidate{name + "=" + c.word, c.doc})
		}
		return all
	}
	if len(l.given) == 0 && l.whole == nil && !l.yes {
		all = s.segments(l)
	}
	if l.op != nil {
		all = append(all, l.flags(current)...)
	}
	if current != "" {
		all = append(all, candidate{outputFlag, "How to print the result"},
			candidate{helpFlag, "Show help"})
	}
	return all
}

func words(list []string) (all []candidate) {
	for _, word := range list {
		all = append(all, candidate{word: word})
	}
	return all
}

// segments returns the words that may follow in the name of the operation.
func (s *surface) segments(l *line) (all []candidate) {
	segments, ops := s.next(l.name())
	for i, segment := range segments {
		c := candidate{word: segment}
		if rest := strings.TrimPrefix(ops[i].Name(), l.name()); strings.TrimPrefix(rest,
			".") == segment {
			c.doc = ops[i].Spec().Summary
		}
		all = append(all, c)
	}
	if len(l.words) == 0 {
		for _, row := range s.ownCommands() {
			all = append(all, candidate{row[0], row[1]})
		}
	}
	return all
}

// flags returns the flags of the operation that may still be given, spelled with - or _ as the
// current word is.
func (l *line) flags(current string) (all []candidate) {
	add := func(f flag, name string) {
		if !strings.HasPrefix(name, current) {
			name = kebab(name)
		}
		all = append(all, candidate{name, f.shape.doc()})
	}
	input := shapeOf(l.op)
	for _, f := range input.flags() {
		given := slices.ContainsFunc(l.given,
			func(g given) bool { return slices.Equal(g.path, f.path) })
		if f.free || given && !f.shape.Is("array") {
			continue
		}
		add(f, f.name())
		if f.shape.isSwitch() && strings.HasPrefix(current, "--no-") {
			add(f, "--no-"+strings.TrimPrefix(f.name(), "--"))
		}
	}
	if input.canConfirm && !l.yes {
		all = append(all, candidate{yesFlag, "Confirm in advance"})
	}
	if l.whole == nil {
		all = append(all, candidate{wholeFlag, "All arguments as one object"})
	}
	return all
}

// values returns the possible values of a flag, or nil if they are not limited.
func (l *line) values(name string) (all []candidate) {
	if name == outputFlag {
		return words(outputs)
	}
	if l.op == nil {
		return nil
	}
	input := shapeOf(l.op)
	f, ok := input.find(strings.TrimPrefix(name, "--"))
	if !ok || input.isReserved(name) {
		return nil
	}
	if f.shape.isSwitch() {
		return words([]string{"true", "false"})
	}
	values := f.shape.Values()
	if values == nil && f.shape.Is("array") {
		values = f.shape.items().Values()
	}
	for _, value := range values {
		if text, ok := render.Inline(value); ok {
			all = append(all, candidate{word: text})
		}
	}
	return all
}
