package yaml

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// scalar reads a scalar or a flow collection. Its further lines are indented by more than parent.
func (p *parser) scalar(parent int) {
	p.checkStart()
	switch c := p.rest()[0]; c {
	case '|', '>':
		p.blockScalar(parent)
	case '"', '\'':
		p.json = jsonscan.AppendString(p.json, p.quoted(parent))
		p.endLine()
	case '[', '{':
		p.flow()
		p.endLine()
	default:
		line, col := p.line, p.col
		text := p.plain(parent)
		line, p.line = p.line, line
		col, p.col = p.col, col
		p.json = append(p.json, p.resolve(text)...) // at the place of the text, for errors
		p.line, p.col = line, col
	}
}

// checkStart fails if no value of this subset of YAML can start here.
func (p *parser) checkStart() {
	rest := p.rest()
	if rest == "" {
		return
	}
	switch c := rest[0]; c {
	case '&':
		p.fail("anchors are not supported; repeat the value, or put it in quotes")
	case '*':
		p.fail("aliases are not supported; repeat the value, or put it in quotes")
	case '!':
		p.fail("tags are not supported; remove it, or put the value in quotes")
	case '%', '@', '`', ',', ']', '}':
		p.fail("a value cannot start with %q; put it in quotes", c)
	case '?', ':':
		if endsToken(rest[1:]) {
			p.fail("complex keys are not supported; write name: value")
		}
	}
}

// plain reads a plain scalar and returns its folded text.
func (p *parser) plain(parent int) string {
	text, commented := plainLine(p.rest())
	var folded strings.Builder
	folded.WriteString(text)
	for {
		p.line++
		blank := p.blankLines()
		if commented || p.atEnd() || p.indentation() <= parent {
			break
		}
		p.col = p.indentation()
		rest := p.rest()
		switch {
		case rest[0] == '\t':
			p.fail("a tab cannot indent; use spaces")
		case rest[0] == '#':
			commented = true // a comment ends the scalar
			continue
		case keyEnd(rest) >= 0:
			p.fail("a value that continues on this line cannot have \": \" in it; check the " +
				"indentation, or put the value in quotes")
		}
		text, commented = plainLine(rest)
		fold(&folded, blank)
		folded.WriteString(text)
	}
	p.skipToContent()
	return folded.String()
}

// plainLine returns the text of a line of a plain scalar, and whether a comment follows.
func plainLine(s string) (text string, commented bool) {
	for i := 1; i < len(s); i++ {
		if s[i] == '#' && (s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimRight(s[:i], " \t"), true
		}
	}
	return strings.TrimRight(s, " \t"), false
}

// blankLines skips empty lines and returns their number.
func (p *parser) blankLines() (n int) {
	for ; !p.atEnd() && strings.Trim(p.lines[p.line], " ") == ""; p.line++ {
		n++
	}
	return n
}

// fold appends the text of a line break and the blank empty lines after it: a space if there are
// none, and otherwise a line break for each.
func fold(b *strings.Builder, blank int) {
	if blank == 0 {
		b.WriteByte(' ')
		return
	}
	for range blank {
		b.WriteByte('\n')
	}
}

// The plain scalars of the core schema that are not strings (YAML 1.2.2, section 10.3.2).
var (
	decimal  = lazyregexp.New(`^[-+]?[0-9]+$`)
	octal    = lazyregexp.New(`^0o[0-7]+$`)
	hex      = lazyregexp.New(`^0x[0-9a-fA-F]+$`)
	float    = lazyregexp.New(`^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$`)
	infOrNaN = lazyregexp.New(`^(?:[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$`)
)

// resolve returns the JSON of a plain scalar.
func (p *parser) resolve(s string) []byte {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return []byte("null")
	case "true", "True", "TRUE":
		return []byte("true")
	case "false", "False", "FALSE":
		return []byte("false")
	}
	switch {
	case octal().MatchString(s), hex().MatchString(s):
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			p.fail("the number %s is too large; put it in quotes", s)
		}
		return strconv.AppendUint(nil, n, 10)
	case infOrNaN().MatchString(s):
		p.fail("JSON has no number %s; put it in quotes", s)
	case decimal().MatchString(s), strings.ContainsAny(s, "0123456789") && float().MatchString(s):
		return p.number(s)
	}
	return jsonscan.AppendString(nil, s)
}

// number returns the JSON of a decimal number.
func (p *parser) number(s string) []byte {
	part := float().FindStringSubmatch(s)
	sign, whole, fraction, exponent := part[1], part[2], part[3], part[4]
	if whole == "" && fraction == "" {
		return jsonscan.AppendString(nil, s) // ".e1" is a string
	}
	if n, err := strconv.ParseFloat(s, 64); err != nil || math.IsInf(n, 0) {
		p.fail("the number %.40s is too large; put it in quotes", s)
	}
	number := cmp.Or(strings.TrimLeft(whole, "0"), "0")
	if sign == "-" {
		number = "-" + number
	}
	if fraction != "" {
		number += "." + fraction
	}
	return []byte(number + exponent)
}
