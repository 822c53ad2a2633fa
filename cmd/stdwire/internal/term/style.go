package term

import (
	"strings"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// StyleOf returns the style of a word for a state, a verdict or a severity.
func StyleOf(word string) terminal.Style { return styles[word] }

var styles = map[string]terminal.Style{
	"ok": terminal.Green, "ready": terminal.Green, "valid": terminal.Green, "running": terminal.Green,
	"completed": terminal.Green,
	"error":     terminal.Red, "broken": terminal.Red, "failed": terminal.Red, "FAIL": terminal.Red,
	"critical": terminal.Red, "high": terminal.Red,
	"warning": terminal.Yellow, "Warning": terminal.Yellow, "medium": terminal.Yellow,
	"untrusted": terminal.Yellow, "starting": terminal.Yellow, "working": terminal.Yellow,
	"input_required": terminal.Yellow, "changed": terminal.Yellow, "withheld": terminal.Yellow,
	"note": terminal.Cyan, "hint": terminal.Cyan, "low": terminal.Cyan, "new": terminal.Cyan,
	"info": terminal.Faint, "disabled": terminal.Faint, "stopped": terminal.Faint,
	"cancelled": terminal.Faint,
}

// PrintState prints text whose first word is a state, in the style of the word.
func (o *Output) PrintState(text string) {
	indent := len(text) - len(strings.TrimLeft(text, " "))
	end := len(text)
	if i := strings.IndexAny(text[indent:], " :\n"); i >= 0 {
		end = indent + i
	}
	o.Print(text[:indent])
	o.PrintStyled(StyleOf(text[indent:end]), text[indent:end])
	o.Print(text[end:])
}

// PrintDiff prints lines of a difference, which begin with a sign, in the style of the sign. A
// terminal's lines are wrapped.
func (o *Output) PrintDiff(text string) {
	for line := range strings.Lines(printable.Text(text)) {
		line = strings.TrimSuffix(line, "\n")
		style, indent := terminal.Plain, len(line)-len(strings.TrimLeft(line, " "))
		if indent < len(line) {
			style = diffStyles[line[indent]]
		}
		line = o.Columns().WrapLine(line, indent+2)
		for part := range strings.SplitSeq(line, "\n") {
			o.PrintStyled(style, part)
			o.Print("\n")
		}
	}
}

var diffStyles = map[byte]terminal.Style{'+': terminal.Green, '-': terminal.Red,
	'~': terminal.Yellow, '@': terminal.Cyan}
