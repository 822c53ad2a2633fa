package uritemplate

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A parser scans a template once from left to right.
type parser struct {
	text string
	at   int
	vars int
}

// Parse compiles a template. The error is a *[SyntaxError]: the template is not valid by RFC 6570,
// section 2, or exceeds a limit.
func Parse(template string) (*Template, error) {
	p := parser{text: template}
	if len(template) > MaxTemplate {
		return nil, p.errorf(MaxTemplate, "the template has %d bytes, %d are the limit",
			len(template), MaxTemplate)
	}
	t := &Template{text: template}
	for p.at < len(p.text) {
		parse := p.literal
		if p.text[p.at] == '{' {
			parse = p.expression
		}
		part, err := parse()
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part)
		for _, v := range part.vars {
			if t.mentions++; !slices.Contains(t.names, v.name) {
				t.names = append(t.names, v.name)
			}
		}
	}
	t.compile()
	return t, nil
}

func (p *parser) errorf(offset int, format string, args ...any) error {
	return &SyntaxError{Template: p.text, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// literal parses up to the next expression, and encodes characters that a URI cannot have (RFC
// 6570, sections 2.1 and 3.1).
func (p *parser) literal() (part, error) {
	var out []byte
	for p.at < len(p.text) && p.text[p.at] != '{' {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		switch {
		case r == '%':
			if !triplet(p.text[p.at:]) {
				return part{}, p.errorf(p.at,
					"two hexadecimal digits have to follow %%; a percent sign itself is %%25")
			}
			out, size = append(out, p.text[p.at:p.at+3]...), 3
		case r < utf8.RuneSelf && uriChars.has(byte(r)):
			out = append(out, byte(r))
		case literalRune(r) && size > 1:
			out = appendEncoded(out, p.text[p.at:p.at+size], unreserved)
		case r == '}':
			return part{}, p.errorf(p.at, "} closes nothing; as itself it is %%7D")
		case r == utf8.RuneError && size == 1:
			return part{}, p.errorf(p.at, "the template is not UTF-8")
		default:
			return part{}, p.errorf(p.at, "%q cannot be in a URI template, percent-encode it", r)
		}
		p.at += size
	}
	return part{literal: string(out)}, nil
}

func (p *parser) expression() (part, error) {
	open := p.at
	p.at++
	var sign byte
	if c := p.peek(); strings.IndexByte("+#./;?&", c) >= 0 && c != 0 {
		sign = c
		p.at++
	} else if strings.IndexByte("=,!@|", c) >= 0 && c != 0 {
		return part{}, p.errorf(p.at,
			"the operator %c is reserved (RFC 6570, section 2.2); there are + # . / ; ? &", c)
	}
	out := part{op: operators[sign]}
	for {
		v, err := p.variable(open)
		if err != nil {
			return part{}, err
		}
		out.vars = append(out.vars, v)
		if p.vars++; p.vars > MaxVariables {
			return part{}, p.errorf(p.at, "the template has more than %d variables", MaxVariables)
		}
		c := p.peek()
		p.at++
		switch c {
		case '}':
			return out, nil
		case ',':
		default:
			return part{}, p.unexpected(p.at-1, open)
		}
	}
}

// variable parses a name and its modifier (RFC 6570, sections 2.3 and 2.4). A dot must be between
// two other characters of a name.
func (p *parser) variable(open int) (variable, error) {
	start := p.at
	for {
		switch c := p.peek(); {
		case nameChars.has(c):
			p.at++
			continue
		case c == '.' && p.at > start && p.text[p.at-1] != '.':
			p.at++
			continue
		case c == '%':
			if !triplet(p.text[p.at:]) {
				return variable{}, p.errorf(p.at, "two hexadecimal digits have to follow %%")
			}
			p.at += 3
			continue
		}
		break
	}
	if p.at == start {
		return variable{}, p.unexpected(p.at, open)
	}
	v := variable{name: p.text[start:p.at]}
	v.normal, _ = normalise(v.name)
	if strings.HasSuffix(v.name, ".") {
		return variable{},
			p.errorf(p.at-1, "a dot can only stand between other characters of a variable's name")
	}
	switch p.peek() {
	case '*':
		p.at++
		v.explode = true
	case ':':
		p.at++
		digits := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			v.max = v.max*10 + int(c-'0')
			if p.at++; v.max == 0 || p.at-digits > 4 {
				break
			}
		}
		if n := p.at - digits; n == 0 || n > 4 || v.max == 0 {
			return variable{}, p.errorf(digits, "a number from 1 to 9999 has to follow the colon")
		}
	}
	return v, nil
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// unexpected returns the error for a byte in the expression that starts at open.
func (p *parser) unexpected(at, open int) error {
	if at >= len(p.text) {
		return p.errorf(open, "the expression is not closed, its } is missing")
	}
	if c := p.text[at]; c == '}' || c == ',' {
		return p.errorf(at, "the name of a variable is missing")
	}
	r, _ := utf8.DecodeRuneInString(p.text[at:])
	return p.errorf(at,
		"%q cannot stand there in an expression: names are of letters, digits, _ and percent-encodings, with dots between",
		r)
}

// literalRune reports whether a character outside ASCII is a ucschar or iprivate (RFC 3987, section
// 2.2), which literals may contain.
func literalRune(r rune) bool {
	switch {
	case r < 0xA0, r >= 0xFDD0 && r <= 0xFDEF, r >= 0xFFF0 && r <= 0xFFFF, r >= 0xE0000 &&
		r <= 0xE0FFF, r&0xFFFE == 0xFFFE:
		return false
	}
	return true
}
