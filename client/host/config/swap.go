package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/toml"
)

// Swap returns the change of the file that swaps two servers. Each server moves with the comments
// above it and after it on its last line; the rest stays unchanged. The error matches
// [ErrNotInstalled], or says why the file cannot be read or changed.
func (f *File) Swap(id, other string) (*Change, error) {
	a, err := f.definition(id)
	if err != nil {
		return nil, err
	}
	b, err := f.definition(other)
	if err != nil {
		return nil, err
	}
	application, t := f.application(), f.text
	keys := append(application.serverKeys(t), a.name)
	if a.offset == b.offset {
		return &Change{Before: t.raw, After: t.raw, File: t.name, keys: keys}, nil
	}
	var edits []edit
	if t.toml != nil {
		edits, err = t.swapTables(keys, a, b)
	} else {
		edits = f.section.servers.swap(a.name, b.name)
	}
	if err != nil {
		return nil, err
	}
	start, end := edits[0].start, edits[len(edits)-1].end
	var swapped []byte
	for i, e := range edits {
		swapped = append(swapped, e.text...)
		if i+1 < len(edits) {
			swapped = append(swapped, t.raw[e.end:edits[i+1].start]...)
		}
	}
	after := slices.Concat(t.raw[:start], swapped, t.raw[end:])
	// the edit covers whole lines, unless they contain something else
	line := bytes.LastIndexByte(t.raw[:start], '\n') + 1
	if len(bytes.TrimLeft(t.raw[line:start], " \t")) == 0 {
		start = line
	}
	if i := bytes.IndexByte(t.raw[end:], '\n'); i >= 0 &&
		len(bytes.TrimRight(t.raw[end:end+i], "\r")) == 0 {
		end += i + 1
	}
	changed := lineEdits(t.raw[start:end], after[start:len(after)-len(t.raw)+end])
	for i := range changed {
		changed[i].start, changed[i].end = changed[i].start+start, changed[i].end+start
	}
	c := &Change{Before: t.raw, After: after, File: t.name, edits: changed, keys: keys}
	if err := application.verifySwap(t, c, a.name, b.name); err != nil {
		return nil, fmt.Errorf("%s cannot be changed without breaking it: %w; change it by hand",
			t.name, err)
	}
	return c, nil
}

// verifySwap returns an error unless a change swaps two servers and does nothing else.
func (a Application) verifySwap(t *text, c *Change, name, other string) error {
	after, err := newText(t.name, c.After)
	if err != nil {
		return err
	}
	was, _, err := a.servers(t)
	if err != nil {
		return err
	}
	is, missing, err := a.servers(after)
	if err != nil || missing != nil {
		return errors.Join(err, errors.New("the servers would not be found"))
	}
	swapped := map[string]string{name: other, other: name}
	before, now := was.members(), is.members()
	for i, m := range before {
		wanted, ok := swapped[m.name]
		if !ok {
			wanted = m.name
		}
		if len(now) != len(before) || now[i].name != wanted {
			return errors.New("the order would be another one")
		}
	}
	root, _ := t.root()
	newRoot, _ := after.root()
	if !equalJSON(root.raw(), newRoot.raw()) {
		return errors.New("something else would change")
	}
	return nil
}

// swap returns the edits, in order, that swap two members of a JSON object.
func (v value) swap(name, other string) []edit {
	members := v.members()
	either := func(m member) bool { return m.name == name || m.name == other }
	first := slices.IndexFunc(members, either)
	second := first + 1 + slices.IndexFunc(members[first+1:], either)
	a, b := v.span(members, first), v.span(members, second)
	raw := v.text.raw
	edits := []edit{{a.start, a.end, raw[b.start:b.end]}}
	// the text after a member moves with it if both members are the last on their lines
	follow := a.line >= 0 && b.line >= 0
	if follow {
		edits = append(edits, edit{a.end, a.line, b.behind(raw, a.comma)})
	}
	edits = append(edits, edit{b.start, b.end, raw[a.start:a.end]})
	if follow {
		edits = append(edits, edit{b.end, b.line, a.behind(raw, b.comma)})
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
func (v value) span(members []member, i int) span {
	from, to := v.start+1, v.end-1
	if i > 0 {
		from = members[i-1].end
	}
	if i+1 < len(members) {
		to = members[i+1].offset
	}
	m := members[i]
	before, after := v.gap(from, m.offset), v.gap(m.end, to)
	s := span{start: before.comment, end: m.end, line: after.line, comma: -1}
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
func (v value) gap(from, to int) gap {
	raw := v.text.raw
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

// swapTables returns the edits, in order, that swap the tables of two servers in TOML.
func (t *text) swapTables(keys []string, first, second member) ([]edit, error) {
	a, err := t.tables(keys, first)
	if err != nil {
		return nil, err
	}
	b, err := t.tables(append(slices.Clone(keys[:len(keys)-1]), second.name), second)
	if err != nil {
		return nil, err
	}
	if b.start < a.start {
		a, b = b, a
	}
	return []edit{{a.start, a.end, t.raw[b.start:b.end]},
		{b.start, b.end, t.raw[a.start:a.end]}}, nil
}

// tables returns the range of the tables of a server, with the comments on the lines above them.
func (t *text) tables(keys []string, m member) (span, error) {
	within := func(s toml.Statement) bool {
		return len(s.Path) >= len(keys) && slices.Equal(s.Path[:len(keys)], keys)
	}
	all := t.toml.Statements
	first := slices.IndexFunc(all, within)
	last := first
	for first >= 0 && last+1 < len(all) && within(all[last+1]) {
		last++
	}
	if first < 0 || !all[first].Header || slices.ContainsFunc(all[last+1:], within) {
		return span{}, t.diagnostic(m.offset,
			"%q is not defined by tables of its own, one after the other; move it by hand", m.name)
	}
	e := editor{raw: t.raw}
	start, end := e.lines(all[first].Start, all[last].End)
	for start > 0 {
		before, _ := e.lines(start-1, start-1)
		if line := bytes.TrimLeft(t.raw[before:start], " \t"); line[0] != '#' {
			break
		}
		start = before
	}
	end -= len(t.raw[start:end]) - len(bytes.TrimRight(t.raw[start:end], "\r\n"))
	return span{start: start, end: end}, nil
}
