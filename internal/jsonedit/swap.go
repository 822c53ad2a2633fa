package jsonedit

import (
	"bytes"
	"slices"

	"github.com/stdwire/stdwire/internal/toml"
)

// Swap returns the edits, in order, that swap two members of a JSON object, each with the comments
// above it and after it on its last line.
func (v Value) Swap(name, other string) []Edit {
	members := v.Members()
	either := func(m Member) bool { return m.Name == name || m.Name == other }
	first := slices.IndexFunc(members, either)
	second := first + 1 + slices.IndexFunc(members[first+1:], either)
	a, b := v.span(members, first), v.span(members, second)
	raw := v.Raw
	edits := []Edit{{a.start, a.end, raw[b.start:b.end]}}
	// the text after a member moves with it if both members are the last on their lines
	follow := a.line >= 0 && b.line >= 0
	if follow {
		edits = append(edits, Edit{a.end, a.line, b.behind(raw, a.comma)})
	}
	edits = append(edits, Edit{b.start, b.end, raw[a.start:a.end]})
	if follow {
		edits = append(edits, Edit{b.end, b.line, a.behind(raw, b.comma)})
	}
	return edits
}

// A span is the range of a member in its file.
type span struct {
	start, end int // with the comments before it
	line       int // the end of its last line; -1 if another member follows on the line
	comma      int // the comma after it on that line; -1 if there is none
}

// span returns the span of a member of an object.
func (v Value) span(members []Member, i int) span {
	from, to := v.Start+1, v.End-1
	if i > 0 {
		from = members[i-1].End
	}
	if i+1 < len(members) {
		to = members[i+1].Offset
	}
	m := members[i]
	before, after := v.gap(from, m.Offset), v.gap(m.End, to)
	s := span{start: before.comment, end: m.End, line: after.line, comma: -1}
	if after.comma < after.line {
		s.comma = after.comma
	}
	return s
}

// behind returns the text after a member on its last line, preceded by a comma if comma is not
// negative.
func (s span) behind(raw []byte, comma int) []byte {
	text := raw[s.end:s.line]
	if s.comma >= 0 {
		text = slices.Concat(raw[s.end:s.comma], raw[s.comma+1:s.line])
	}
	if comma >= 0 {
		text = append([]byte{','}, text...)
	}
	return text
}

// A gap is the text between two members of an object.
type gap struct {
	comma   int // -1 if there is none
	line    int // the end of the line on which the gap begins, -1 if it ends on that line
	comment int // the first comment on a later line and after the comma, or the end of the gap
}

// gap parses the text between two members of an object: white space, comments and a comma.
func (v Value) gap(from, to int) gap {
	raw := v.Raw
	g := gap{-1, -1, to}
	for i := from; i < to; {
		switch raw[i] {
		case '/':
			if g.comment == to {
				g.comment = i
			}
			i, _ = commentEnd(raw, i) // the text has been validated
			continue
		case ',':
			g.comma, g.comment = i, to
		case '\n':
			if g.line < 0 {
				g.line, g.comment = i, to
				if i > from && raw[i-1] == '\r' {
					g.line--
				}
			}
		}
		i++
	}
	return g
}

// SwapTables returns the edits, in order, that swap the tables of TOML of two members of the object
// at a path of keys, each with the comments above it. The error is an [*Error].
func (t *Text) SwapTables(keys []string, first, second Member) ([]Edit, error) {
	a, err := t.tables(append(slices.Clone(keys), first.Name), first)
	if err != nil {
		return nil, err
	}
	b, err := t.tables(append(slices.Clone(keys), second.Name), second)
	if err != nil {
		return nil, err
	}
	if b.start < a.start {
		a, b = b, a
	}
	return []Edit{{a.start, a.end, t.Raw[b.start:b.end]},
		{b.start, b.end, t.Raw[a.start:a.end]}}, nil
}

// tables returns the range of the tables of a member at a path of keys, with the comments on the
// lines above them.
func (t *Text) tables(keys []string, m Member) (span, error) {
	within := func(s toml.Statement) bool {
		return len(s.Path) >= len(keys) && slices.Equal(s.Path[:len(keys)], keys)
	}
	all := t.TOML.Statements
	first := slices.IndexFunc(all, within)
	last := first
	for first >= 0 && last+1 < len(all) && within(all[last+1]) {
		last++
	}
	if first < 0 || !all[first].Header || slices.ContainsFunc(all[last+1:], within) {
		return span{}, t.Errorf(m.Offset,
			"%q is not defined by tables of its own, one after the other; move it by hand", m.Name)
	}
	e := Editor{raw: t.Raw}
	start, end := e.lines(all[first].Start, all[last].End)
	for start > 0 {
		before, _ := e.lines(start-1, start-1)
		if line := bytes.TrimLeft(t.Raw[before:start], " \t"); line[0] != '#' {
			break
		}
		start = before
	}
	end -= len(t.Raw[start:end]) - len(bytes.TrimRight(t.Raw[start:end], "\r\n"))
	return span{start: start, end: end}, nil
}
