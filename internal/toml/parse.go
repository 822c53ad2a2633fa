package toml

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A parser reads one document.
type parser struct {
	data       []byte
	i          int
	root       *table
	table      *table   // that the next keys are in
	prefix     []string // its path
	section    int      // the number of headers so far
	values     int      // the number of values so far
	statements []Statement
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// next returns the next byte, or 0 at the end. A NUL byte is valid nowhere.
func (p *parser) next() byte {
	if p.i < len(p.data) {
		return p.data[p.i]
	}
	return 0
}

// space skips spaces and tabs.
func (p *parser) space() {
	for p.next() == ' ' || p.next() == '\t' {
		p.i++
	}
}

// newline skips a line end, if there is one.
func (p *parser) newline() bool {
	switch {
	case p.next() == '\n':
		p.i++
	case p.next() == '\r' && p.i+1 < len(p.data) && p.data[p.i+1] == '\n':
		p.i += 2
	default:
		return false
	}
	return true
}

// comment skips a comment, if there is one.
func (p *parser) comment() error {
	if p.next() != '#' {
		return nil
	}
	for p.i < len(p.data) && p.data[p.i] != '\n' {
		if p.data[p.i] == '\r' && p.i+1 < len(p.data) && p.data[p.i+1] == '\n' {
			return nil
		}
		if err := p.character("a comment"); err != nil {
			return err
		}
	}
	return nil
}

// character skips a character that may be in a comment or a string.
func (p *parser) character(where string) error {
	c := p.data[p.i]
	if c < ' ' && c != '\t' || c == 0x7f {
		return p.errorf(p.i, "control character %#02x in %s; it must be escaped", c, where)
	}
	r, size := utf8.DecodeRune(p.data[p.i:])
	if r == utf8.RuneError && size == 1 {
		return p.errorf(p.i, "%s is not UTF-8", where)
	}
	p.i += size
	return nil
}

// blank skips white space, comments and line ends.
func (p *parser) blank() error {
	for {
		p.space()
		if err := p.comment(); err != nil {
			return err
		}
		if !p.newline() {
			return nil
		}
	}
}

func (p *parser) document() error {
	for {
		if err := p.blank(); err != nil {
			return err
		}
		if p.i == len(p.data) {
			return nil
		}
		start := p.i
		read := p.keyValue
		if p.next() == '[' {
			read = p.header
		}
		path, err := read()
		if err != nil {
			return err
		}
		p.statements = append(p.statements,
			Statement{path, p.data[start] == '[', start, p.i})
		p.space()
		if err := p.comment(); err != nil {
			return err
		}
		if p.i < len(p.data) && !p.newline() {
			return p.errorf(p.i, "a line end is missing before %s", p.found())
		}
	}
}

// found describes the next character, for messages.
func (p *parser) found() string {
	if p.i >= len(p.data) {
		return "the end of the file"
	}
	r, size := utf8.DecodeRune(p.data[p.i:])
	if r == utf8.RuneError && size == 1 {
		return "a byte that is not UTF-8"
	}
	if r == '\n' || r == '\r' {
		return "the end of the line"
	}
	return fmt.Sprintf("%q", r)
}

// A key is one of the words of a dotted key.
type key struct {
	name  string
	start int
}

func isBareKey(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
		c == '-'
}

// keys reads a key, which may be dotted.
func (p *parser) keys() (all []key, err error) {
	for {
		k := key{start: p.i}
		switch c := p.next(); {
		case c == '"' || c == '\'':
			if p.multiline() {
				return nil, p.errorf(p.i, "a key cannot have several lines")
			}
			if k.name, err = p.text(); err != nil {
				return nil, err
			}
		case isBareKey(c):
			for isBareKey(p.next()) {
				p.i++
			}
			k.name = string(p.data[k.start:p.i])
		default:
			return nil, p.errorf(p.i,
				"a key is missing before %s; a key has letters, digits, '_' and '-', or quotation marks around it",
				p.found())
		}
		all = append(all, k)
		if len(all) > MaxDepth {
			return nil, p.errorf(k.start, "nested too deeply")
		}
		p.space()
		if p.next() != '.' {
			return all, nil
		}
		p.i++
		p.space()
	}
}

func path(prefix []string, keys []key) []string {
	all := slices.Clone(prefix)
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

// header reads [table] or [[table]] and enters the table.
func (p *parser) header() ([]string, error) {
	p.i++
	element, brackets := p.next() == '[', 1
	if element {
		p.i++
		brackets = 2
	}
	p.space()
	keys, err := p.keys()
	if err != nil {
		return nil, err
	}
	for range brackets {
		if p.next() != ']' {
			return nil, p.errorf(p.i, "']' is missing before %s", p.found())
		}
		p.i++
	}
	t := p.root
	for _, k := range keys[:len(keys)-1] {
		if t, err = p.parent(t, k); err != nil {
			return nil, err
		}
	}
	last := keys[len(keys)-1]
	if element {
		p.table, err = p.element(t, last)
	} else {
		p.table, err = p.define(t, last)
	}
	p.prefix = path(nil, keys)
	p.section++
	return p.prefix, err
}

// count counts a value.
func (p *parser) count() error {
	if p.values++; p.values > MaxValues {
		return p.errorf(p.i, "the file has more than %d values", MaxValues)
	}
	return nil
}

// addTable adds an empty table to t.
func (p *parser) addTable(t *table, k key, kind tableKind) (*table, error) {
	added := &table{kind: kind, section: p.section}
	t.add(k.name, k.start, value{start: k.start, table: added})
	return added, p.count()
}

// parent enters a table on the path of a header.
func (p *parser) parent(t *table, k key) (*table, error) {
	v := t.find(k.name)
	switch {
	case v == nil:
		return p.addTable(t, k, implicit)
	case v.table != nil && v.table.kind != inline:
		return v.table, nil
	case v.array != nil && v.array.tables:
		return v.array.elements[len(v.array.elements)-1].table, nil
	case v.table != nil:
		return nil, p.errorf(k.start, "%.60q is an inline table, which cannot be extended", k.name)
	}
	return nil, p.errorf(k.start, "%.60q is not a table", k.name)
}

// define enters the table that a header defines.
func (p *parser) define(t *table, k key) (*table, error) {
	v := t.find(k.name)
	switch {
	case v == nil:
		return p.addTable(t, k, explicit)
	case v.table != nil && v.table.kind == implicit:
		v.table.kind = explicit
		return v.table, nil
	}
	return nil, p.errorf(k.start, "%.60q is already defined", k.name)
}

// element enters a new element of the array that a header extends.
func (p *parser) element(t *table, k key) (*table, error) {
	v := t.find(k.name)
	if v == nil {
		t.add(k.name, k.start, value{start: k.start, array: &array{tables: true}})
		if err := p.count(); err != nil {
			return nil, err
		}
		v = t.find(k.name)
	}
	if v.array == nil || !v.array.tables {
		return nil, p.errorf(k.start, "%.60q is already defined", k.name)
	}
	added := &table{kind: explicit}
	v.array.elements = append(v.array.elements, value{start: k.start, table: added})
	return added, p.count()
}

// keyValue reads KEY = VALUE into the current table.
func (p *parser) keyValue() ([]string, error) {
	keys, err := p.assign(p.table, len(p.prefix))
	return path(p.prefix, keys), err
}

// assign reads KEY = VALUE into a table at a depth.
func (p *parser) assign(t *table, depth int) ([]key, error) {
	keys, err := p.keys()
	if err != nil {
		return nil, err
	}
	if depth += len(keys); depth > MaxDepth {
		return nil, p.errorf(keys[0].start, "nested too deeply")
	}
	for _, k := range keys[:len(keys)-1] {
		v := t.find(k.name)
		switch {
		case v == nil:
			if t, err = p.addTable(t, k, dotted); err != nil {
				return nil, err
			}
		case v.table != nil && (v.table.kind == implicit ||
			v.table.kind == dotted && v.table.section == p.section):
			t = v.table
		case v.table != nil:
			return nil, p.errorf(k.start, "the table %.60q is already defined", k.name)
		default:
			return nil, p.errorf(k.start, "%.60q is not a table", k.name)
		}
	}
	last := keys[len(keys)-1]
	if t.find(last.name) != nil {
		return nil, p.errorf(last.start, "%.60q is already defined", last.name)
	}
	if p.next() != '=' {
		return nil, p.errorf(p.i, "'=' is missing before %s", p.found())
	}
	p.i++
	p.space()
	v, err := p.value(depth)
	if err != nil {
		return nil, err
	}
	t.add(last.name, last.start, v)
	return keys, nil
}
