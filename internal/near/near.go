// Package near finds what was probably meant by a word that is not known: it is behind every "did you mean".
package near

import "strings"

// Match returns the candidate that is most like word, "" if none is: one that word is short for, as
// dir and cmd are for directory and command, or else one that takes at most a third of its letters
// to be inserted, removed, replaced or swapped with their neighbour. Case, leading dashes, and the
// difference between '_' and '-' do not count. It does not look at words of more than 128 bytes,
// nor at more than 1000 candidates.
func Match(word string, candidates []string) (best string) {
	const longest, most = 128, 1000
	if len(word) > longest {
		return ""
	}
	least, short := 0, false
	for _, candidate := range candidates[:min(len(candidates), most)] {
		if len(candidate) > longest {
			continue
		}
		a, b := folded(word), folded(candidate)
		d, abbreviated := edits(a, b), abbreviates(a, b)
		like := abbreviated || d <= max(1, len(b)/3) && d < len(b)
		if better := best == "" || abbreviated && !short || abbreviated == short && d < least; like && better {
			best, least, short = candidate, d, abbreviated
		}
	}
	return best
}

// abbreviates reports whether a may be short for b: its beginning, or some of its letters in order,
// the first among them, at least a third of all.
func abbreviates(a, b string) bool {
	const least = 3 // letters; fewer begin, or are in, too many words
	switch {
	case len(a) < least:
		return false
	case strings.HasPrefix(b, a):
		return true
	case !strings.HasPrefix(b, a[:1]) || len(b) > 3*len(a):
		return false
	}
	rest := a
	for i := range len(b) {
		if rest != "" && b[i] == rest[0] {
			rest = rest[1:]
		}
	}
	return rest == ""
}

// DidYouMean says what [Match] finds: "did you mean name?"; "" if nothing.
func DidYouMean(word string, candidates []string) string {
	if match := Match(word, candidates); match != "" {
		return "did you mean " + match + "?"
	}
	return ""
}

// Instead is DidYouMean, or else all that there are, if they are few: "there are name, size".
func Instead(word string, candidates []string) string {
	const few = 20
	if hint := DidYouMean(word, candidates); hint != "" || len(candidates) == 0 || len(candidates) > few {
		return hint
	}
	return "there are " + strings.Join(candidates, ", ")
}

func folded(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(word, "-")), "_", "-")
}

// edits counts the bytes to insert, remove, replace, or swap with their neighbour to make b of a.
func edits(a, b string) int {
	above, row := make([]int, len(b)+1), make([]int, len(b)+1) // of two and of one byte less of a
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			swap := row[j]
			if a[i] != b[j] {
				swap++
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					swap = min(swap, above[j-1]+1)
				}
			}
			next[j+1] = min(swap, row[j+1]+1, next[j]+1)
		}
		above, row = row, next
	}
	return row[len(b)]
}
