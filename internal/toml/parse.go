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
	table      *table   // of the next keys
	prefix     []string // the path of table
	section    int      // the number of headers so far
	values     int      // the number of values so far
	statements []Statement
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// peek returns the next byte, or 0 at the end. A NUL byte is not valid in TOML.
func (p *parser) peek() byte {
	if p.i < len(p.data) {
		return p.data[p.i]
	}
	return 0
}

// skipSpace skips spaces and tabs.
func (p *parser) skipSpace() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
}

// skipNewline skips a line end, and reports whether there is one.
func (p *parser) skipNewline() bool {
	switch {
	case p.peek() == '\n':
		p.i++
	case p.peek() == '\r' && p.i+1 < len(p.data) && p.data[p.i+1] == '\n':
		p.i += 2
	default:
		return false
	}
	return true
}

// skipComment skips a comment, if there is one.
func (p *parser) skipComment() error {
	if p.peek() != '#' {
		return nil
	}
	for p.i < len(p.data) && p.data[p.i] != '\n' {
		if p.data[p.i] == '\r' && p.i+1 < len(p.data) && p.data[p.i+1] == '\n' {
			return nil
		}
		if err := p.skipCharacter("a comment"); err != nil {
			return err
		}
	}
	return nil
}

// skipCharacter skips a character that is valid in a comment and in a string.
func (p *parser) skipCharacter(where string) error {
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

// skipBlank skips white space, comments and line ends.
func (p *parser) skipBlank() error {
	for {
		p.skipSpace()
		if err := p.skipComment(); err != nil {
			return err
		}
		if !p.skipNewline() {
			return nil
		}
	}
}

func (p *parser) document() error {
	for {
		if err := p.skipBlank(); err != nil {
			return err
		}
		if p.i == len(p.data) {
			return nil
		}
		start := p.i
		read := p.keyValue
		if p.peek() == '[' {
			read = p.header
		}
		path, err := read()
		if err != nil {
			return err
		}
		p.statements = append(p.statements,
			Statement{path, p.data[start] == '[', start, p.i})
		p.skipSpace()
		if err := p.skipComment(); err != nil {
			return err
		}
		if p.i < len(p.data) && !p.skipNewline() {
			return p.errorf(p.i, "a line end is missing before %s", p.describeNext())
		}
	}
}

// describeNext describes the next character, for messages.
func (p *parser) describeNext() string {
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

// A key is one part of a dotted key.
type key struct {
	name  string
	start int
}

func isBareKey(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
		c == '-'
}

// dottedKey reads the parts of a key.
func (p *parser) dottedKey() (all []key, err error) {
	for {
		k := key{start: p.i}
		switch c := p.peek(); {
		case c == '"' || c == '\'':
			if p.isMultiline() {
				return nil, p.errorf(p.i, "a key cannot have several lines")
			}
			if k.name, err = p.stringValue(); err != nil {
				return nil, err
			}
		case isBareKey(c):
			for isBareKey(p.peek()) {
				p.i++
			}
			k.name = string(p.data[k.start:p.i])
		default:
			return nil, p.errorf(p.i,
				"a key is missing before %s; a key has letters, digits, '_' and '-', or quotation marks around it",
				p.describeNext())
		}
		all = append(all, k)
		if len(all) > MaxDepth {
			return nil, p.errorf(k.start, "nested more than %d deep", MaxDepth)
		}
		p.skipSpace()
		if p.peek() != '.' {
			return all, nil
		}
		p.i++
		p.skipSpace()
	}
}

// appendNames returns a new slice of prefix and the names of keys.
func appendNames(prefix []string, keys []key) []string {
	all := slices.Clone(prefix)
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

// header reads [table] or [[table]], makes it the current table, and returns its path.
func (p *parser) header() ([]string, error) {
	p.i++
	element, brackets := p.peek() == '[', 1
	if element {
		p.i++
		brackets = 2
	}
	p.skipSpace()
	keys, err := p.dottedKey()
	if err != nil {
		return nil, err
	}
	for range brackets {
		if p.peek() != ']' {
			return nil, p.errorf(p.i, "']' is missing before %s", p.describeNext())
		}
		p.i++
	}
	t := p.root
	for _, k := range keys[:len(keys)-1] {
		if t, err = p.parentTable(t, k); err != nil {
			return nil, err
		}
	}
	last := keys[len(keys)-1]
	if element {
		p.table, err = p.newElement(t, last)
	} else {
		p.table, err = p.definedTable(t, last)
	}
	p.prefix = appendNames(nil, keys)
	p.section++
	return p.prefix, err
}

// countValue counts a value, and returns an error if there are too many.
func (p *parser) countValue() error {
	if p.values++; p.values > MaxValues {
		return p.errorf(p.i, "the file has more than %d values", MaxValues)
	}
	return nil
}

// addTable adds an empty table to t.
func (p *parser) addTable(t *table, k key, kind tableKind) (*table, error) {
	added := &table{kind: kind, section: p.section}
	t.add(k.name, k.start, value{start: k.start, table: added})
	return added, p.countValue()
}

// parentTable returns the table of a key that is not the last one of a header.
func (p *parser) parentTable(t *table, k key) (*table, error) {
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

// definedTable returns the table that [table] defines.
func (p *parser) definedTable(t *table, k key) (*table, error) {
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

// newElement returns the table that [[table]] adds to its array.
func (p *parser) newElement(t *table, k key) (*table, error) {
	v := t.find(k.name)
	if v == nil {
		t.add(k.name, k.start, value{start: k.start, array: &array{tables: true}})
		if err := p.countValue(); err != nil {
			return nil, err
		}
		v = t.find(k.name)
	}
	if v.array == nil || !v.array.tables {
		return nil, p.errorf(k.start, "%.60q is already defined", k.name)
	}
	added := &table{kind: explicit}
	v.array.elements = append(v.array.elements, value{start: k.start, table: added})
	return added, p.countValue()
}

// keyValue reads KEY = VALUE into the current table, and returns the path of the value.
func (p *parser) keyValue() ([]string, error) {
	keys, err := p.assign(p.table, len(p.prefix))
	return appendNames(p.prefix, keys), err
}

// assign reads KEY = VALUE into a table that is nested depth deep.
func (p *parser) assign(t *table, depth int) ([]key, error) {
	keys, err := p.dottedKey()
	if err != nil {
		return nil, err
	}
	if depth += len(keys); depth > MaxDepth {
		return nil, p.errorf(keys[0].start, "nested more than %d deep", MaxDepth)
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
	if p.peek() != '=' {
		return nil, p.errorf(p.i, "'=' is missing before %s", p.describeNext())
	}
	p.i++
	p.skipSpace()
	v, err := p.value(depth)
	if err != nil {
		return nil, err
	}
	t.add(last.name, last.start, v)
	return keys, nil
}
