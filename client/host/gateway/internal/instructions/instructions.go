// Package instructions makes one text of the instructions of several servers.
package instructions

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// Most is the length of a composed text in characters: a common host shows a model no more.
const Most = 2048

// A Server is a server with instructions, which may be "".
type Server struct{ ID, Text string }

// Compose returns the instructions of servers in their order, a line "[ID] text" for each that has
// some, at most limit characters in all. Texts that are too long share what the short ones leave,
// and end after a word with "…". A text is one line, so that it cannot look like another server's.
func Compose(all []Server, limit int) string {
	var lines []string
	for _, one := range all {
		text := printable.TruncateBytes(one.Text, 2*utf8.UTFMax*limit)
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			lines = append(lines, "["+one.ID+"] "+text)
		}
	}
	room := limit - max(0, len(lines)-1) // without line breaks
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(utf8.RuneCountInString(lines[a]), utf8.RuneCountInString(lines[b]))
	})
	for n, i := range order { // the short ones first, whose rest the long ones share
		share := room / (len(order) - n)
		lines[i] = cut(lines[i], share)
		room -= utf8.RuneCountInString(lines[i])
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// cut returns the words of a line that fit into a number of characters, or "" if there are none but
// the ID.
func cut(line string, most int) string {
	if most <= 0 {
		return ""
	}
	short := printable.CutWords(line, most)
	if _, text, _ := strings.Cut(short, "] "); text == "" || text == "…" {
		return ""
	}
	return short
}
