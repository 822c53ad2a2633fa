package yaml

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// blockScalar reads a literal or folded scalar, within a collection that is indented by parent.
func (p *parser) blockScalar(parent int) {
	folded := p.rest()[0] == '>'
	p.col++
	var chomping byte // '-', '+' or 0
	if rest := p.rest(); rest != "" && (rest[0] == '-' || rest[0] == '+') {
		chomping = rest[0]
		p.col++
	}
	if rest := p.rest(); rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		p.fail("indentation indicators are not supported; remove it, or put the value in quotes")
	}
	if rest := strings.TrimLeft(p.rest(), " \t"); rest != "" &&
		(rest[0] != '#' || len(rest) == len(p.rest())) {
		p.fail("the text starts on the next line; move this there")
	}
	p.line++
	lines, trailing := p.blockLines(parent)
	text := strings.Join(lines, "\n")
	if folded {
		text = foldLines(lines)
	}
	switch {
	case chomping == '+':
		if len(lines) > 0 {
			trailing++
		}
		text += strings.Repeat("\n", trailing)
	case chomping == 0 && len(lines) > 0:
		text += "\n"
	}
	p.json = jsonscan.AppendString(p.json, text)
	p.skipToContent()
}

// blockLines reads the lines of a block scalar. It returns them without their indentation up to the
// last one with text, and the number of empty ones that follow.
func (p *parser) blockLines(parent int) (lines []string, trailing int) {
	first := p.line
	p.blankLines()
	if p.atEnd() || p.indentation() <= parent {
		return nil, p.line - first
	}
	indent := p.indentation()
	for i := first; i < p.line; i++ {
		if len(p.lines[i]) > indent {
			p.line, p.col = i, indent
			p.fail("this empty line has more spaces than the text; remove them")
		}
		lines = append(lines, "")
	}
	last := len(lines)
	for ; !p.atEnd(); p.line++ {
		line := p.lines[p.line]
		blank := strings.Trim(line, " ") == ""
		if !blank && p.indentation() < indent {
			break
		}
		lines = append(lines, line[min(indent, len(line)):])
		if len(line) > indent {
			last = len(lines)
		}
	}
	return lines[:last], len(lines) - last
}

// foldLines returns the text of a folded scalar (YAML 1.2.2, section 8.1.3): a line break between
// two lines becomes a space, unless one of them is indented.
func foldLines(lines []string) string {
	var text strings.Builder
	blank, first, indented := 0, true, false
	for _, line := range lines {
		if line == "" {
			blank++
			continue
		}
		wasIndented := indented
		indented = line[0] == ' ' || line[0] == '\t'
		switch {
		case first:
			text.WriteString(strings.Repeat("\n", blank))
		case wasIndented || indented:
			text.WriteString(strings.Repeat("\n", blank+1))
		default:
			fold(&text, blank)
		}
		text.WriteString(line)
		blank, first = 0, false
	}
	return text.String()
}
