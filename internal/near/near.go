// Package near finds the known word most similar to an unknown one, for "did you mean" hints.
package near

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

// separator stands between a server and its item in the names of a gateway.
const separator = "__"

// MatchItem is [Match] for the name of a tool or prompt, which may begin with that of its server:
// as in files__read and, less certainly, files_read. The item is what the caller wants. So the same
// item of another server, or of one that word does not name, comes before another item. Of several
// it is the one whose server is most similar, or else the first. If no name is similar, an item
// counts whose name is the same after the first '_', '-' or '.'.
func MatchItem(word string, candidates []string) string {
	same := sameItem(item(word, separator), candidates, separator)
	if match := Match(word, same); match != "" {
		return match
	}
	if len(same) > 0 {
		return same[0]
	}
	if match := Match(word, candidates); match != "" {
		return match
	}
	for _, short := range []string{"_", "-", "."} {
		if _, _, has := strings.Cut(word, short); !has {
			continue
		}
		if same := sameItem(item(word, short), candidates, short); len(same) > 0 {
			return same[0]
		}
	}
	return ""
}

// item returns what follows the first separator of a name, or else the name.
func item(name, separator string) string {
	if _, after, has := strings.Cut(name, separator); has {
		return after
	}
	return name
}

// sameItem returns the names that begin with a server and end with this item.
func sameItem(wanted string, names []string, separator string) (same []string) {
	for _, name := range names {
		if _, own, has := strings.Cut(name, separator); has && own != "" && own == wanted {
			same = append(same, name)
		}
	}
	return same
}

// DidYouMean returns "did you mean name?" with the result of [Match], or "".
func DidYouMean(word string, candidates []string) string { return hint(Match(word, candidates)) }

// DidYouMeanItem is [DidYouMean] with the result of [MatchItem].
func DidYouMeanItem(word string, candidates []string) string {
	return hint(MatchItem(word, candidates))
}

func hint(match string) string {
	if match == "" {
		return ""
	}
	return "did you mean " + match + "?"
}

// Unknown returns an error that names one of the members that are not known, or nil.
func Unknown[V any](others map[string]V, known ...string) error {
	if len(others) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(others)))
	err := fmt.Errorf("the unknown member %.100q", name)
	if hint := DidYouMean(name, known); hint != "" {
		err = fmt.Errorf("%w: %s", err, hint)
	}
	return err
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
