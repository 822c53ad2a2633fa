package child

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/printable"
)

// maxLine is the maximum number of characters of a line in an error.
const maxLine = 256

// lastLine returns the last informative line of printable text. It passes over advice, noise and
// indented lines, which are stack frames or a dump that belongs to the line above, unless there is
// nothing else.
func lastLine(text string) string {
	fallback, below := "", ""
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		frame := strings.HasPrefix(below, "\t/") // a Go function, followed by its file
		if strings.HasPrefix(line, trimmed) && !frame && !isNoise(trimmed) && !isAdvice(trimmed) {
			return printable.TruncateRunes(trimmed, maxLine)
		}
		if below = line; fallback == "" {
			fallback = trimmed
		}
	}
	return printable.TruncateRunes(fallback, maxLine)
}

// advices lists the starts, in lower case, of lines that say what to do about the error above.
var advices = []string{"hint:", "note:", "tip:", "help:", "usage:", "try '", "try `", "try \"",
	"run '", "run `", "for more "}

func isAdvice(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(advices,
		func(start string) bool { return strings.HasPrefix(line, start) })
}

// trailers lists the starts of lines that Node.js, npm and Go write after the error.
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
	"npm error     /", // the path of the log, up to npm 8
}

// isNoise reports whether a line is a trailer or mere punctuation.
func isNoise(line string) bool {
	if !strings.ContainsFunc(line,
		func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	line = strings.Replace(line, "npm ERR!", "npm error", 1) // up to npm 9
	return slices.ContainsFunc(trailers, func(start string) bool {
		return strings.HasPrefix(line+"\n", start)
	})
}
