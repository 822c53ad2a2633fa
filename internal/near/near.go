// Package near finds the known word most similar to an unknown one, for "did you mean" hints.
package near

import "strings"

// Match returns the candidate that is most similar to word, or "". It prefers a candidate that word
// abbreviates, as dir and cmd abbreviate directory and command. Otherwise it returns the candidate
// with the smallest edit distance, if that is at most a third of the candidate's length. An edit
// inserts, removes or replaces a letter, or swaps two neighbours. Match ignores case, leading
// dashes, the difference between '_' and '-', words of more than 128 bytes, and candidates after
// the first 1000.
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
		if better := best == "" || abbreviated && !short || abbreviated == short &&
			d < least; like && better {
			best, least, short = candidate, d, abbreviated
		}
	}
	return best
}

// abbreviates reports whether a may be short for b: a prefix of it, or some of its letters in
// order, including the first and at least a third of them.
func abbreviates(a, b string) bool {
	const least = 3 // letters; fewer match too many words
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

// DidYouMean returns "did you mean name?" with the result of [Match], or "".
func DidYouMean(word string, candidates []string) string {
	if match := Match(word, candidates); match != "" {
		return "did you mean " + match + "?"
	}
	return ""
}

// Instead returns the result of [DidYouMean]. If that is empty, it lists the candidates, as in
// "there are name, size", if there are at most 20.
func Instead(word string, candidates []string) string {
	const few = 20
	if hint := DidYouMean(word, candidates); hint != "" || len(candidates) == 0 ||
		len(candidates) > few {
		return hint
	}
	return "there are " + strings.Join(candidates, ", ")
}

func folded(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(word, "-")), "_", "-")
}

// edits returns how many bytes to insert, remove, replace, or swap with their neighbour to turn a
// into b.
func edits(a, b string) int {
	// rows for two bytes and for one byte less of a
	above, row := make([]int, len(b)+1), make([]int, len(b)+1)
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
