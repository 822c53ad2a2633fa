package reply

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/printable"
)

const maxDiffText = 100_000 // characters of OldText and NewText; the page has all of Old and New

// A DiffLine is a difference of two JSON texts.
type DiffLine struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"` // none if it was added
	New  json.RawMessage `json:"new,omitempty"` // none if it was removed
	// The spans in which Old and New differ, as lines that visibly differ. They are set if both
	// are there.
	OldText string `json:"oldText,omitempty"`
	NewText string `json:"newText,omitempty"`
}

// DiffOf returns differences as the page shows them.
func DiffOf(changes []jsondiff.Change) (lines []DiffLine) {
	for _, c := range changes {
		line := DiffLine{Path: printable.ExactName(c.Path, 0), Old: json.RawMessage(c.Old),
			New: json.RawMessage(c.New)}
		if c.Old != "" && c.New != "" {
			line.OldText, line.NewText = printable.Difference(c.Old, c.New, maxDiffText)
		}
		lines = append(lines, line)
	}
	return lines
}
