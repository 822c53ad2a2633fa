package child

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/printable"
)

// maxLine is the most characters of a line that an error quotes.
const maxLine = 256

// lastLine returns the last line of printable text that says something. Indented
// lines are stack frames or a dump and belong to the line above; they, advice and
// noise are passed over, unless there is nothing else.
func lastLine(text string) string {
	fallback, below := "", ""
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		said := strings.TrimSpace(line)
		if said == "" {
			continue
		}
		frame := strings.HasPrefix(below, "\t/") // a function of Go's, with its file below
		if strings.HasPrefix(line, said) && !frame && !noise(said) && !advice(said) {
			return printable.TruncateRunes(said, maxLine)
		}
		if below = line; fallback == "" {
			fallback = said
		}
	}
	return printable.TruncateRunes(fallback, maxLine)
}

// advices is how lines begin, in lower case, that say what to do about the error above them.
var advices = []string{"hint:", "note:", "tip:", "help:", "usage:", "try '", "try `", "try \"", "run '", "run `", "for more "}

func advice(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(advices, func(start string) bool { return strings.HasPrefix(line, start) })
}

// trailers is how lines begin that Node.js, npm and Go write after the one that matters.
var trailers = []string{
	"goroutine ",
	"exit status ",
	"Node.js v",
	"npm notice",
	"npm error\n",
	"npm error 404\n",
	"npm error 404 Note that",
	"npm error 404 tarball,",
	"npm error network\n",
	"npm error network This is",
	"npm error network In most",
	"npm error network If you",
	"npm error A complete log",
	"npm error     /", // where that is, up to npm 8
}

// noise reports whether a line is a trailer or mere punctuation.
func noise(line string) bool {
	if !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	line = strings.Replace(line, "npm ERR!", "npm error", 1) // as it was up to npm 9
	return slices.ContainsFunc(trailers, func(start string) bool {
		return strings.HasPrefix(line+"\n", start)
	})
}
