package yaml

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// node reads the value at the current position, within a collection that is indented by parent.
func (p *parser) node(parent int) {
	if p.depth++; p.depth > MaxDepth {
		p.fail("collections are nested more than %d deep; make them flatter", MaxDepth)
	}
	defer func() { p.depth-- }()
	if p.atDash() {
		p.sequence(parent)
		return
	}
	if _, ok := p.key(); ok {
		p.mapping(parent)
		return
	}
	p.scalar(parent)
}

// atDash reports whether an element of a block sequence starts here.
func (p *parser) atDash() bool {
	rest := p.rest()
	return rest != "" && rest[0] == '-' && endsToken(rest[1:])
}

func (p *parser) sequence(parent int) {
	col := p.col
	p.json = append(p.json, '[')
	for first := true; !p.atEnd() && p.col == col && p.atDash(); first = false {
		if !first {
			p.json = append(p.json, ',')
		}
		p.col++
		p.skipSpaces()
		if rest := p.rest(); rest != "" && rest[0] != '#' {
			p.node(col)
			continue
		}
		p.endLine()
		if p.atEnd() || p.col <= col {
			p.json = append(p.json, "null"...)
			continue
		}
		p.node(col)
	}
	p.json = append(p.json, ']')
	p.checkDedent(col, parent)
}

// checkDedent checks the indentation of the line that ends a collection indented by col, which is
// in one indented by parent.
func (p *parser) checkDedent(col, parent int) {
	switch {
	case p.atEnd() || p.col <= parent:
	case p.col == col:
		p.fail("this is no element of the collection above; align it with its own collection")
	case p.col > col:
		p.fail("this line has more indentation than those above; align it with them")
	default:
		p.fail("no line above has this indentation; align it with them")
	}
}

// skipSpaces skips spaces, and refuses a tab after them.
func (p *parser) skipSpaces() {
	rest := p.rest()
	p.col += len(rest) - len(strings.TrimLeft(rest, " "))
	if rest = p.rest(); rest != "" && rest[0] == '\t' {
		p.fail("a tab cannot separate; use spaces")
	}
}

func (p *parser) mapping(parent int) {
	col := p.col
	names := map[string]struct{}{}
	p.json = append(p.json, '{')
	for !p.atEnd() && p.col == col {
		key, ok := p.key()
		if !ok {
			p.checkStart()
			p.fail("expected name: value")
		}
		if _, ok := names[key.name]; ok {
			p.fail("the key %q is there already; remove one of them", key.name)
		}
		if len(names) > 0 {
			p.json = append(p.json, ',')
		}
		names[key.name] = struct{}{}
		p.json = append(jsonscan.AppendString(p.json, key.name), ':')
		p.col = key.end
		p.skipSpaces()
		if rest := p.rest(); rest != "" && rest[0] != '#' {
			p.inlineValue(col)
			continue
		}
		p.endLine()
		switch {
		case !p.atEnd() && (p.col > col || p.col == col && p.atDash()):
			p.nextLineValue(col)
		default:
			p.json = append(p.json, "null"...)
		}
	}
	p.json = append(p.json, '}')
	p.checkDedent(col, parent)
}

// nextLineValue reads the value of a key that starts on a line after the key. The mapping is
// indented by col.
func (p *parser) nextLineValue(col int) {
	if p.col > col {
		p.node(col)
		return
	}
	if p.depth++; p.depth > MaxDepth {
		p.fail("collections are nested more than %d deep; make them flatter", MaxDepth)
	}
	// a sequence may have the indentation of its key
	p.sequence(col)
	p.depth--
}

// inlineValue reads the value of a key that starts on the line of the key. The mapping is indented
// by col.
func (p *parser) inlineValue(col int) {
	if p.atDash() {
		p.fail("a list cannot start on the line of its key; start it on the next one")
	}
	if _, ok := p.key(); ok {
		p.fail("a value with \": \" in it must be in quotes")
	}
	p.scalar(col)
}

// A key is the key of a block mapping.
type key struct {
	name string
	end  int // the column after the colon
}

// key returns the key that starts here, and false if there is none.
func (p *parser) key() (key, bool) {
	rest := p.rest()
	if rest == "" || p.atDash() {
		return key{}, false
	}
	name, end := "", 0
	switch rest[0] {
	case '"', '\'':
		length := quotedLength(rest)
		if length == 0 {
			return key{}, false
		}
		end = length + len(rest[length:]) - len(strings.TrimLeft(rest[length:], " \t"))
		if end == len(rest) || rest[end] != ':' || !endsToken(rest[end+1:]) {
			return key{}, false
		}
		name = p.decode(rest[1:length-1], rest[0])
	case '[', '{', '|', '>', '#':
		return key{}, false
	default:
		if end = keyEnd(rest); end < 0 {
			if rest[0] == '?' && endsToken(rest[1:]) {
				p.fail("complex keys are not supported; write name: value")
			}
			return key{}, false
		}
		name = strings.TrimRight(rest[:end], " \t")
		p.checkStart()
		p.checkPlainKey(name)
	}
	if len(name) > 1024 {
		p.fail("a key has more than 1024 bytes; shorten it")
	}
	return key{name, p.col + end + 1}, true
}

// keyEnd returns the index of the colon that ends a plain key, or -1.
func keyEnd(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == ':' && endsToken(s[i+1:]):
			return i
		case s[i] == '#' && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'):
			return -1
		}
	}
	return -1
}

// checkPlainKey fails for a plain key that is not a string.
func (p *parser) checkPlainKey(name string) {
	if name == "<<" {
		p.fail("merge keys are not supported; repeat the members")
	}
	if name == "" || p.resolve(name)[0] != '"' {
		p.fail("the key %q is no string; put it in quotes", name)
	}
}
