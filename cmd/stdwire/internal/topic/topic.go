// Package topic holds the pages of stdwire help that explain a subject rather than a command. They
// are plain text, embedded in the binary so that they can be read without a network.
//
// A page is a file of the folder pages, named after its topic: its first line is the summary that
// stdwire help lists, the rest is printed as it is, 80 columns wide. A line that begins with four
// spaces and "$ " is a command that a test runs in an empty directory; the lines below it are what
// the command prints, with … for what varies.
package topic

import (
	"embed"
	"slices"
	"strings"
)

//go:embed pages/*.txt
var pages embed.FS

// A Topic is one page.
type Topic struct {
	Name    string
	Summary string // one line, without a full stop
	Text    string // the page, with the summary as its first line
}

// All returns the topics in alphabetical order.
func All() []Topic {
	entries, err := pages.ReadDir("pages")
	if err != nil {
		panic(err) // the files are embedded
	}
	var all []Topic
	for _, e := range entries {
		text, err := pages.ReadFile("pages/" + e.Name())
		if err != nil {
			panic(err)
		}
		page := expandFields(string(text))
		summary, _, _ := strings.Cut(page, "\n")
		all = append(all, Topic{strings.TrimSuffix(e.Name(), ".txt"), summary, page})
	}
	return all
}

// Find returns the topic of that name.
func Find(name string) (Topic, bool) {
	all := All()
	i := slices.IndexFunc(all, func(t Topic) bool { return t.Name == name })
	if i < 0 {
		return Topic{}, false
	}
	return all[i], true
}
