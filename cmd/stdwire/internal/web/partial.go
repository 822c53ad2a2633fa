package web

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// recoverPartial returns what a host recovers from the first n bytes of a JSON object that a model
// writes (MCP Apps, "ui/notifications/tool-input-partial"): strings, arrays and objects that are
// not complete are closed, and what has no value yet is left out. object is valid and compact.
func recoverPartial(object []byte, n int) []byte {
	p := partial{text: object, n: min(max(n, 1), len(object))}
	for at := 0; at < p.n; {
		at = p.token(at)
	}
	slices.Reverse(p.open)
	return slices.Concat(p.text[:p.end], p.close, p.open)
}

// A partial is the state of recoverPartial. All before end can be kept, if close and open follow.
type partial struct {
	text  []byte
	n     int
	key   bool // the next string is the key of a member
	end   int
	close []byte // ends a string at end
	open  []byte // ends the arrays and objects around end, the outermost first
}

// token reads the token at a position, and returns the position after it, n at most.
func (p *partial) token(at int) int {
	c := p.text[at]
	switch c {
	case '{', '[':
		p.open = append(p.open, c+2) // } or ]
		p.key = c == '{'
	case '}', ']':
		p.open = p.open[:len(p.open)-1]
	case ',', ':':
		p.key = c == ',' && p.open[len(p.open)-1] == '}'
		return at + 1
	case '"':
		return p.string(at)
	default:
		return p.scalar(at)
	}
	p.end = at + 1
	return p.end
}

// string reads a string. Of one that is not complete, whole characters are kept.
func (p *partial) string(at int) int {
	after := at + 1
	for after < p.n && p.text[after] != '"' {
		size := p.character(after)
		if after+size > p.n {
			break
		}
		after += size
	}
	if complete := after < p.n && p.text[after] == '"'; complete {
		after++
		if !p.key {
			p.end = after
		}
		return after
	}
	if !p.key {
		p.end, p.close = after, []byte(`"`)
	}
	return p.n
}

// character returns the size of a character of a string. A pair of surrogates is one.
func (p *partial) character(at int) int {
	rest := p.text[at:]
	switch {
	case rest[0] != '\\':
		_, size := utf8.DecodeRune(rest)
		return size
	case rest[1] != 'u':
		return 2
	case bytes.ContainsAny(rest[2:3], "dD") && bytes.ContainsAny(rest[3:4], "89abAB") &&
		bytes.HasPrefix(rest[6:], []byte(`\u`)):
		return 12
	}
	return 6
}

// scalar reads a number or a literal. Of a number that is not complete, the digits are kept.
func (p *partial) scalar(at int) int {
	size := bytes.IndexAny(p.text[at:], ",]}")
	if at+size <= p.n {
		p.end = at + size
		return p.end
	}
	if written := bytes.TrimRight(p.text[at:p.n], "+-.eE"); len(written) > 0 && p.text[at] < 'a' {
		p.end = at + len(written)
	}
	return p.n
}
