// Package yaml reads a subset of YAML 1.2.2, that of the front matter of skills, and returns it as
// JSON.
//
// The root is a block mapping. Values are block mappings and block sequences, plain, single-quoted
// and double-quoted scalars, which may continue on further lines, literal (|) and folded (>) block
// scalars, and flow collections that end on the line on which they start. Scalars have the types of
// the core schema. The rest is refused, with its place: anchors, aliases, tags, merge keys,
// complex keys, keys that are no strings, duplicate keys, directives, further documents,
// indentation by tabs, indentation indicators, and infinity and NaN, which JSON lacks.
package yaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a document.
const (
	MaxBytes = 64 << 10
	MaxDepth = 32 // of nested collections
)

// An Error describes text that the package does not accept, and its place. Line and Column count
// from 1; Column counts characters.
type Error struct {
	Line, Column int
	Problem      string // with the remedy
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Problem) }

// ToJSON returns a document as a JSON object, whose members have the order of the document. The
// error is an [*Error].
func ToJSON(text []byte) (result json.RawMessage, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			result, err = nil, e
		default:
			panic(e)
		}
	}()
	p := &parser{lines: split(text)}
	p.skipToContent()
	if p.atEnd() {
		panic(&Error{1, 1, "the document is empty; it needs a mapping, such as name: value"})
	}
	if _, ok := p.key(); !ok {
		p.fail("the document must be a mapping: write name: value")
	}
	p.node(-1)
	return p.json, nil
}

// A parser reads a document. Its methods panic with an *Error.
type parser struct {
	lines     []string
	line, col int // the next character; col is in bytes
	depth     int
	json      []byte // the JSON of the text that was read
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.col, format, args...) }

// failAt is like fail for another column of the current line.
func (p *parser) failAt(col int, format string, args ...any) {
	column := 1
	if p.line < len(p.lines) {
		column += utf8.RuneCountInString(p.lines[p.line][:min(col, len(p.lines[p.line]))])
	}
	panic(&Error{p.line + 1, column, fmt.Sprintf(format, args...)})
}

// split returns the lines of a document without their line breaks.
func split(text []byte) []string {
	if len(text) > MaxBytes {
		panic(&Error{1, 1, fmt.Sprintf("the document has %d bytes, more than %d; shorten it",
			len(text), MaxBytes)})
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		column := 0
		for at, r := range lines[i] {
			column++
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(lines[i][at:], "\ufffd"):
				panic(&Error{i + 1, column, "this is not UTF-8; save the file as UTF-8"})
			case r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == '\ufeff' ||
				r == '\ufffe' || r == '\uffff':
				panic(&Error{i + 1, column,
					fmt.Sprintf("the character %U is not allowed here; remove it", r)})
			}
		}
	}
	return lines
}

func (p *parser) atEnd() bool { return p.line >= len(p.lines) }

// rest returns the rest of the current line.
func (p *parser) rest() string { return p.lines[p.line][p.col:] }

// skipToContent advances to the first character of the next line, from the current one on, that is
// neither empty nor a comment.
func (p *parser) skipToContent() {
	for ; !p.atEnd(); p.line++ {
		p.col = p.indentation()
		rest := p.rest()
		switch {
		case rest == "" || rest[0] == '#':
			continue
		case rest[0] == '\t':
			p.fail("a tab cannot indent; use spaces")
		case p.col == 0 && (isMarker(rest, "---") || isMarker(rest, "...")):
			p.fail("only one document is allowed; remove this line")
		}
		return
	}
}

// indentation returns the number of spaces at the start of the current line.
func (p *parser) indentation() int {
	line := p.lines[p.line]
	return len(line) - len(strings.TrimLeft(line, " "))
}

func isMarker(s, m string) bool { return strings.HasPrefix(s, m) && endsToken(s[len(m):]) }

// endsToken reports whether s is empty or starts with white space.
func endsToken(s string) bool { return s == "" || s[0] == ' ' || s[0] == '\t' }

// endLine checks that nothing but white space and a comment is left of the current line, and
// advances to the next content.
func (p *parser) endLine() {
	rest := p.rest()
	trimmed := strings.TrimLeft(rest, " \t")
	p.col += len(rest) - len(trimmed)
	if trimmed != "" && (trimmed[0] != '#' || !endsToken(p.lines[p.line][p.col-1:])) {
		p.fail("a value ends before this; put the whole value in quotes")
	}
	p.line++
	p.skipToContent()
}
