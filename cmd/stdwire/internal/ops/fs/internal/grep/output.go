package grep

// Output is the result of a search, and the data of fs.search.
type Output struct {
	Matches   []Match `json:"matches" doc:"By path, then line."`
	Searched  int     `json:"searched" doc:"How many files were searched. Binary files, with NUL in their first 8 KiB, are not."`
	Truncated bool    `json:"truncated" doc:"There may be more; search a directory below, use glob or exclude, or raise max_results."`
	Skipped   int     `json:"skipped,omitempty" doc:"Files and directories that could not be read."`
}

// A Match is a line that the pattern matches.
type Match struct {
	Path   string   `json:"path" doc:"Relative to the root."`
	Line   int      `json:"line" doc:"Counted from 1."`
	Column int      `json:"column" doc:"Of the first match in the line, in bytes, counted from 1."`
	Text   string   `json:"text" doc:"The line. A long one is cut, with … in place of what is left out."`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// size returns the bytes of text in a match.
func (m *Match) size() int {
	n := len(m.Path) + len(m.Text)
	for _, lines := range [][]string{m.Before, m.After} {
		for _, line := range lines {
			n += len(line)
		}
	}
	return n
}
