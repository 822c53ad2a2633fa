package cli

import "strings"

// didYouMean ends a message about a word that is not known: with the candidate that is most like it, or else with all of them if they are few.
func didYouMean(word string, candidates []string) string {
	const most = 20
	if near := nearest(word, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(candidates) == 0 || len(candidates) > most {
		return ""
	}
	return "; there are " + strings.Join(candidates, ", ")
}

// nearest returns the candidate that differs from a word in the fewest places, "" if all differ in more than a third of theirs.
func nearest(word string, candidates []string) (best string) {
	const longest = 128
	if len(word) > longest {
		return ""
	}
	least := 0
	for _, candidate := range candidates {
		other := folded(candidate)
		if len(other) > longest {
			continue
		}
		if d := edits(folded(word), other); d <= max(1, len(other)/3) && d < len(other) && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

func folded(word string) string { return strings.ToLower(kebab(strings.TrimLeft(word, "-"))) }

// edits counts the bytes to insert, remove, replace or swap with their neighbour to make b of a.
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
