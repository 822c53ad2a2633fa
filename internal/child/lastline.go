package child

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is the most characters of a line that an error quotes.
const maxLine = 256

// lastLine returns the last line of printable text that says something. Indented
// lines are stack frames or a dump and belong to the line above; they and
// noise are passed over, unless there is nothing else.
func lastLine(text string) string {
	fallback := ""
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		said := strings.TrimSpace(line)
		if said == "" {
			continue
		}
		if strings.HasPrefix(line, said) && !noise(said) {
			return shorten(said)
		}
		if fallback == "" {
			fallback = said
		}
	}
	return shorten(fallback)
}

// trailers is how lines begin that Node.js and npm write after the one that matters.
var trailers = []string{
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

func shorten(line string) string {
	if utf8.RuneCountInString(line) <= maxLine {
		return line
	}
	return string([]rune(line)[:maxLine-1]) + "…"
}
