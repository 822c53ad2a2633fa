package yaml

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// flow reads a flow collection, which must end on its line.
func (p *parser) flow() {
	if p.depth++; p.depth > MaxDepth {
		p.fail("collections are nested more than %d deep; make them flatter", MaxDepth)
	}
	defer func() { p.depth-- }()
	opening := p.rest()[0]
	closing := opening + 2 // "[]" and "{}" in ASCII
	names := map[string]struct{}{}
	p.col++
	p.json = append(p.json, opening)
	for first := true; ; first = false {
		if p.flowToken() == closing {
			break
		}
		if !first {
			p.json = append(p.json, ',')
		}
		if opening == '{' {
			p.flowKey(names)
		}
		p.flowValue()
		switch p.flowToken() {
		case ',':
			p.col++
		case closing:
		case ':':
			p.fail("a pair in a list needs braces, as in [{name: value}]")
		default:
			p.fail("expected a comma or %q", closing)
		}
	}
	p.col++
	p.json = append(p.json, closing)
}

// flowToken skips white space and returns the next byte, which must be on the same line.
func (p *parser) flowToken() byte {
	p.skipSpaces()
	rest := p.rest()
	if rest == "" || rest[0] == '#' {
		p.fail("the collection must end on its line; write one element on each line, without " +
			"brackets and commas")
	}
	return rest[0]
}

func (p *parser) flowKey(names map[string]struct{}) {
	var name string
	if rest := p.rest(); rest[0] == '"' || rest[0] == '\'' {
		name = p.flowQuoted()
	} else {
		p.checkStart()
		name = p.flowPlain()
		p.checkPlainKey(name)
	}
	if _, ok := names[name]; ok {
		p.fail("the key %q is there already; remove one of them", name)
	}
	names[name] = struct{}{}
	if p.flowToken() != ':' || !endsToken(p.rest()[1:]) {
		p.fail("expected a colon and a space")
	}
	p.col++
	p.json = append(jsonscan.AppendString(p.json, name), ':')
	p.flowToken()
}

func (p *parser) flowValue() {
	switch p.rest()[0] {
	case '[', '{':
		p.flow()
	case '"', '\'':
		p.json = jsonscan.AppendString(p.json, p.flowQuoted())
	case '|', '>', '#':
		p.fail("a value in brackets cannot start with %q; put it in quotes", p.rest()[0])
	default:
		p.checkStart()
		text := p.flowPlain()
		if text == "" || text == "-" {
			p.fail("a value is missing; write null or \"\"")
		}
		p.json = append(p.json, p.resolve(text)...)
	}
}

func (p *parser) flowQuoted() string {
	rest := p.rest()
	n := quotedLength(rest)
	if n == 0 {
		p.fail("the value has no closing quote on its line; add it")
	}
	p.col += n
	return p.decode(rest[1:n-1], rest[0])
}

// flowPlain reads a plain scalar in a flow collection.
func (p *parser) flowPlain() string {
	rest := p.rest()
	end := len(rest)
	for i := range len(rest) {
		if strings.IndexByte(",[]{}", rest[i]) >= 0 ||
			rest[i] == ':' && (endsToken(rest[i+1:]) || strings.IndexByte(",[]{}", rest[i+1]) >= 0) ||
			rest[i] == '#' && i > 0 && endsToken(rest[i-1:]) {
			end = i
			break
		}
	}
	text := strings.TrimRight(rest[:end], " \t")
	p.col += len(text)
	return text
}
