package schema

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// failUnknown reports a property that the schema does not allow, and what was probably meant.
func (v *run) failUnknown(s *subschema, n uint32, keyword string, name []byte) bool {
	if v.quick {
		return false
	}
	const most = 10 // names that are listed
	var known []string
	for property := range s.properties {
		known = append(known, property)
	}
	hint := ""
	if near := nearest(string(name), slices.Values(known)); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	} else if 0 < len(known) && len(known) <= most {
		hint = " (known: " + strings.Join(known, ", ") + ")"
	}
	return v.fail(s, n, keyword, string(name), "unknown property %q%s", string(name), hint)
}

// properties yields the names that the schema declares, those of the schemas that it always applies included.
func (s *subschema) properties(yield func(string) bool) {
	s.eachProperty(yield, 8)
}

func (s *subschema) eachProperty(yield func(string) bool, depth int) bool {
	if depth == 0 {
		return true
	}
	if s.object != nil {
		for _, slot := range s.object.slots {
			if slot.schema != nil && slot.schema.verdict != refuses && !yield(slot.name) {
				return false
			}
		}
	}
	for part := range s.always {
		if !part.eachProperty(yield, depth-1) {
			return false
		}
	}
	return true
}

// nearest returns the candidate that is at most a third of its letters away from a word, "" if none is. It does not look at long words
// or many candidates.
func nearest(word string, candidates iter.Seq[string]) string {
	const longest, most = 64, 200
	best, least, looked := "", 0, 0
	for candidate := range candidates {
		if looked++; looked > most || len(word) > longest {
			break
		}
		if len(candidate) > longest {
			continue
		}
		if d := edits(strings.ToLower(word), strings.ToLower(candidate)); d <= max(1, len(candidate)/3) && d < len(candidate) && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

// edits counts the letters that must be inserted, removed, replaced, or swapped with the next to make one word of another.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
