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
	if p.dash() {
		p.sequence(parent)
		return
	}
	if _, ok := p.key(); ok {
		p.mapping(parent)
		return
	}
	p.scalar(parent)
}

// dash reports whether an element of a block sequence starts here.
func (p *parser) dash() bool {
	rest := p.rest()
	return rest != "" && rest[0] == '-' && endsToken(rest[1:])
}

func (p *parser) sequence(parent int) {
	col := p.col
	p.json = append(p.json, '[')
	for first := true; !p.end() && p.col == col && p.dash(); first = false {
		if !first {
			p.json = append(p.json, ',')
		}
		p.col++
		p.spaces()
		if rest := p.rest(); rest != "" && rest[0] != '#' {
			p.node(col)
			continue
		}
		p.endLine()
		if p.end() || p.col <= col {
			p.json = append(p.json, "null"...)
			continue
		}
		p.node(col)
	}
	p.json = append(p.json, ']')
	p.outdented(col, parent)
}

// outdented checks that a collection that is indented by col, in one indented by parent, has ended
// properly.
func (p *parser) outdented(col, parent int) {
	switch {
	case p.end() || p.col <= parent:
	case p.col == col:
		p.fail("this is no element of the collection above; align it with its own collection")
	case p.col > col:
		p.fail("this line has more indentation than those above; align it with them")
	default:
		p.fail("no line above has this indentation; align it with them")
	}
}

// spaces skips spaces, and refuses a tab after them.
func (p *parser) spaces() {
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
	for !p.end() && p.col == col {
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
		p.spaces()
		if rest := p.rest(); rest != "" && rest[0] != '#' {
			p.inline(col)
			continue
		}
		p.endLine()
		switch {
		case !p.end() && (p.col > col || p.col == col && p.dash()):
			p.mappedNode(col)
		default:
			p.json = append(p.json, "null"...)
		}
	}
	p.json = append(p.json, '}')
	p.outdented(col, parent)
}

// mappedNode reads the value of a key of a mapping that is indented by col, on a line of its own.
func (p *parser) mappedNode(col int) {
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

// inline reads the value of a key that starts on the line of the key.
func (p *parser) inline(col int) {
	if p.dash() {
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
	if rest == "" || p.dash() {
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
		if end = colon(rest); end < 0 {
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

// colon returns the index of the colon that ends a plain key, or -1.
func colon(s string) int {
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

// checkPlainKey returns an error for a plain key that is not a string.
func (p *parser) checkPlainKey(name string) {
	if name == "<<" {
		p.fail("merge keys are not supported; repeat the members")
	}
	if name == "" || p.resolve(name)[0] != '"' {
		p.fail("the key %q is no string; put it in quotes", name)
	}
}
