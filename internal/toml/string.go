package toml

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// isMultiline reports whether the string here begins with three quotation marks.
func (p *parser) isMultiline() bool {
	return p.i+2 < len(p.data) && p.data[p.i+1] == p.data[p.i] && p.data[p.i+2] == p.data[p.i]
}

// stringValue reads a string of any of the four kinds.
func (p *parser) stringValue() (string, error) {
	start, quote, multiline := p.i, p.peek(), p.isMultiline()
	p.i++
	if multiline {
		p.i += 2
		p.skipNewline() // the first line end is not part of the text
	}
	var out []byte
	for {
		c := p.peek()
		at := p.i
		switch {
		case p.i >= len(p.data):
			return "", p.errorf(start, "a string has no end")
		case c == quote && !multiline:
			p.i++
			return string(out), nil
		case c == quote:
			for p.peek() == quote && p.i < at+5 { // the text may end with two quotation marks
				p.i++
			}
			if p.i-at >= 3 {
				return string(append(out, p.data[at:p.i-3]...)), nil
			}
			out = append(out, p.data[at:p.i]...)
		case c == '\\' && quote == '"':
			var err error
			if out, err = p.escape(out, multiline); err != nil {
				return "", err
			}
		case multiline && p.skipNewline():
			out = append(out, '\n')
		case c == '\n' || c == '\r' && !multiline:
			return "", p.errorf(start, "a string has no end on its line")
		default:
			if err := p.skipCharacter("a string"); err != nil {
				return "", err
			}
			out = append(out, p.data[at:p.i]...)
		}
	}
}

// escapes are the characters of the escapes of one character.
var escapes = map[byte]byte{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', '"': '"',
	'\\': '\\'}

// escape reads an escape, and appends its text to out.
func (p *parser) escape(out []byte, multiline bool) ([]byte, error) {
	start := p.i
	p.i++
	c := p.peek()
	if plain, ok := escapes[c]; ok {
		p.i++
		return append(out, plain), nil
	}
	if digits := map[byte]int{'u': 4, 'U': 8}[c]; digits > 0 {
		p.i++
		end := min(p.i+digits, len(p.data))
		code, err := strconv.ParseUint(string(p.data[p.i:end]), 16, 32)
		if err != nil || end-p.i < digits || bytes.ContainsAny(p.data[p.i:end], "_+-") {
			return nil, p.errorf(start, `\%c must be followed by %d hexadecimal digits`, c, digits)
		}
		if code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
			return nil, p.errorf(start, "the escape is not the code of a character")
		}
		p.i = end
		return utf8.AppendRune(out, rune(code)), nil
	}
	if multiline { // a backslash at the end of a line removes all white space after it
		p.skipSpace()
		if p.skipNewline() {
			for p.skipSpace(); p.skipNewline(); p.skipSpace() {
			}
			return out, nil
		}
	}
	return nil, p.errorf(start, "an unknown escape in a string")
}
