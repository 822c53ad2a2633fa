package toml

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// multiline reports whether a string begins with three quotation marks.
func (p *parser) multiline() bool {
	return p.i+2 < len(p.data) && p.data[p.i+1] == p.data[p.i] && p.data[p.i+2] == p.data[p.i]
}

// text reads a string of any of the four kinds.
func (p *parser) text() (string, error) {
	start, quote, several := p.i, p.next(), p.multiline()
	p.i++
	if several {
		p.i += 2
		p.newline() // the first line end is not part of the text
	}
	var out []byte
	for {
		c := p.next()
		at := p.i
		switch {
		case p.i >= len(p.data):
			return "", p.errorf(start, "a string has no end")
		case c == quote && !several:
			p.i++
			return string(out), nil
		case c == quote:
			for p.next() == quote && p.i < at+5 { // the text may end with two quotation marks
				p.i++
			}
			if p.i-at >= 3 {
				return string(append(out, p.data[at:p.i-3]...)), nil
			}
			out = append(out, p.data[at:p.i]...)
		case c == '\\' && quote == '"':
			var err error
			if out, err = p.escape(out, several); err != nil {
				return "", err
			}
		case several && p.newline():
			out = append(out, '\n')
		case c == '\n' || c == '\r' && !several:
			return "", p.errorf(start, "a string has no end on its line")
		default:
			if err := p.character("a string"); err != nil {
				return "", err
			}
			out = append(out, p.data[at:p.i]...)
		}
	}
}

// escapes are the escapes of one character.
var escapes = map[byte]byte{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', '"': '"',
	'\\': '\\'}

// escape reads what follows a backslash.
func (p *parser) escape(out []byte, several bool) ([]byte, error) {
	start := p.i
	p.i++
	c := p.next()
	if plain, ok := escapes[c]; ok {
		p.i++
		return append(out, plain), nil
	}
	if digits := map[byte]int{'u': 4, 'U': 8}[c]; digits > 0 {
		p.i++
		end := min(p.i+digits, len(p.data))
		code, err := strconv.ParseUint(string(p.data[p.i:end]), 16, 32)
		if err != nil || end-p.i < digits || bytes.ContainsAny(p.data[p.i:end], "_+-") {
			return nil, p.errorf(start, `\%c wants %d hexadecimal digits`, c, digits)
		}
		if code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
			return nil, p.errorf(start, "an escape is not a character")
		}
		p.i = end
		return utf8.AppendRune(out, rune(code)), nil
	}
	if several { // a backslash at the end of a line removes white space up to the next text
		p.space()
		if p.newline() {
			for p.space(); p.newline(); p.space() {
			}
			return out, nil
		}
	}
	return nil, p.errorf(start, "an unknown escape in a string")
}
