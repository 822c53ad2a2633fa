package yaml

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quotedLength returns the length of the quoted scalar at the start of s, or 0 if it does not end
// in s.
func quotedLength(s string) int {
	if end := closingQuote(s[1:], s[0]); end >= 0 {
		return end + 2
	}
	return 0
}

// closingQuote returns the index of the quote that ends a scalar, or -1.
func closingQuote(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] != quote:
		case quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i
		}
	}
	return -1
}

// quoted reads a quoted scalar and returns its text.
func (p *parser) quoted(parent int) string {
	line, col := p.line, p.col
	quote := p.rest()[0]
	p.col++
	var text strings.Builder
	for {
		part := p.rest()
		if end := closingQuote(part, quote); end >= 0 {
			text.WriteString(p.decode(part[:end], quote))
			p.col += end + 1
			return text.String()
		}
		part, joined := lineEnd(part, quote)
		text.WriteString(p.decode(part, quote))
		p.line++
		blank := p.blankLines()
		if p.atEnd() || p.indentation() <= parent {
			p.line, p.col = line, col
			p.fail("the value has no closing quote; add it, or indent the lines that continue it")
		}
		if p.col = p.indentation(); p.rest()[0] == '\t' {
			p.fail("a tab cannot indent; use spaces")
		}
		switch {
		case !joined:
			fold(&text, blank)
		case blank > 0: // parsers disagree about it
			p.fail("an empty line cannot follow a backslash; write \\n")
		}
	}
}

// lineEnd returns a line of a quoted scalar without the white space at its end, and whether it ends
// with a backslash, which joins it with the next one.
func lineEnd(s string, quote byte) (part string, joined bool) {
	part = strings.TrimRight(s, " \t")
	backslashes := len(part) - len(strings.TrimRight(part, `\`))
	switch {
	case quote == '\'' || backslashes%2 == 0:
		return part, false
	case len(part) < len(s): // the white space after the backslash is escaped
		return s[:len(part)+1], false
	}
	return part[:len(part)-1], true
}

// decode returns the decoded text of a part of a line between quotes.
func (p *parser) decode(s string, quote byte) string {
	if quote == '\'' {
		return strings.ReplaceAll(s, "''", "'")
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			text.WriteByte(s[i])
			continue
		}
		i++
		if plain := strings.IndexByte(`0abt`+"\t"+`nvfre "/\N_LP`, s[i]); plain >= 0 {
			text.WriteString([...]string{"\x00", "\a", "\b", "\t", "\t", "\n", "\v", "\f", "\r",
				"\x1b", " ", `"`, "/", `\`, "\u0085", "\u00a0", "\u2028", "\u2029"}[plain])
			continue
		}
		r, size := escaped(s[i:])
		if size == 0 {
			p.fail(`the escape \%.9s is not valid; write \\ for a backslash`, s[i:])
		}
		text.WriteRune(r)
		i += size - 1
	}
	return text.String()
}

// escaped returns the character of a numeric escape without its backslash, and the escape's length,
// or 0 if it is invalid.
func escaped(s string) (rune, int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if digits == 0 {
		return 0, 0
	}
	r, ok := hexRune(s[1:], digits)
	if !ok {
		return 0, 0
	}
	size := 1 + digits
	if utf16.IsSurrogate(r) && strings.HasPrefix(s[size:], `\u`) { // a surrogate pair, as in JSON
		low, _ := hexRune(s[size+2:], 4)
		r, size = utf16.DecodeRune(r, low), size+6
		if r == utf8.RuneError {
			return 0, 0
		}
	}
	if !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, size
}

func hexRune(s string, digits int) (rune, bool) {
	if len(s) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:digits], 16, 31)
	return rune(n), err == nil
}
