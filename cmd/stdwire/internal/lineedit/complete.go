package lineedit

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

const (
	maxCandidates     = 200 // shown at once
	maxCandidateWidth = 60  // columns
)

// completion completes the text before the cursor.
func (e *Editor) completion() {
	if e.complete == nil {
		return
	}
	text, pos := string(e.text), len(string(e.text[:e.pos]))
	candidates, from := e.complete(text, pos)
	if len(candidates) == 0 || from < 0 || from > pos {
		return
	}
	typed, more := text[from:pos], candidates[0]
	if len(candidates) > 1 {
		if more = commonPrefix(candidates); len(more) <= len(typed) {
			_, _ = e.display.print([]byte(formatColumns(candidates, e.Width())))
			return
		}
	}
	old := e.line
	e.text = slices.Clone(e.text)
	e.remove(len([]rune(text[:from])))
	if !e.insert([]rune(more)...) {
		e.line = old
	}
}

// commonPrefix returns the longest common prefix of the candidates.
func commonPrefix(candidates []string) string {
	prefix := candidates[0]
	for _, c := range candidates[1:] {
		n := 0
		for n < len(prefix) && n < len(c) && prefix[n] == c[n] {
			n++
		}
		prefix = prefix[:n]
	}
	for {
		if r, n := utf8.DecodeLastRuneInString(prefix); r != utf8.RuneError || n != 1 {
			return prefix
		}
		prefix = prefix[:len(prefix)-1] // a part of a character
	}
}

// formatColumns formats candidates in columns.
func formatColumns(candidates []string, width int) string {
	shown := slices.Clone(candidates[:min(len(candidates), maxCandidates)])
	widest := 0
	for i, c := range shown {
		shown[i] = printable.Cut(strings.TrimSuffix(c, " "), min(maxCandidateWidth, width-1))
		widest = max(widest, printable.ColumnsOf(shown[i]))
	}
	const gap = 2
	columnCount := max(1, (width-1+gap)/(widest+gap))
	rowCount := (len(shown) + columnCount - 1) / columnCount
	var b strings.Builder
	for row := range rowCount {
		for i := row; i < len(shown); i += rowCount {
			b.WriteString(shown[i])
			if i+rowCount < len(shown) {
				b.WriteString(strings.Repeat(" ", widest-printable.ColumnsOf(shown[i])+gap))
			}
		}
		b.WriteByte('\n')
	}
	if n := len(candidates) - len(shown); n > 0 {
		fmt.Fprintf(&b, "… and %d more\n", n)
	}
	return b.String()
}
