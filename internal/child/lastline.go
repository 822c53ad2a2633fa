package child

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/printable"
)

// maxLine is the maximum number of characters of a line in an error.
const maxLine = 256

// nearLines is the number of informative lines at the end of stderr among which lastLine prefers an
// error.
const nearLines = 8

// lastLine returns the last informative line of printable text that says it is an error, or the
// last informative line if none of the last few does. It passes over advice, noise and indented
// lines, which are stack frames or a dump that belongs to the line above, unless there is nothing
// else.
func lastLine(text string) string {
	last, fallback, below, seen := "", "", "", 0
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		frame := strings.HasPrefix(below, "\t/") // a Go function, followed by its file
		if strings.HasPrefix(line, trimmed) && !frame && !isNoise(trimmed) && !isAdvice(trimmed) {
			if seen++; isError(trimmed) {
				last = trimmed
				break
			}
			last = cmp.Or(last, trimmed)
			if seen == nearLines {
				break
			}
		}
		if below = line; fallback == "" {
			fallback = trimmed
		}
	}
	return printable.TruncateRunes(cmp.Or(last, fallback), maxLine)
}

// isError reports whether a line says that it is an error: "ValueError: x", "[FATAL] x",
// level=error, {"level":"error"}.
func isError(line string) bool {
	line = strings.ToLower(line)
	for _, word := range []string{"error", "exception", "fatal", "panic", "critical"} {
		before, after, found := strings.Cut(line, word)
		before, after = strings.TrimRight(before, `"' `), strings.TrimLeft(after, `"' `)
		if found && (strings.HasSuffix(before, "level=") || strings.HasSuffix(before, `level":`) ||
			after != "" && strings.ContainsRune(":[]", rune(after[0]))) {
			return true
		}
	}
	return false
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
