package uritemplate

import (
	"maps"
	"slices"
)

// listOf returns the value with several texts; undefined if there are none.
func listOf(members ...string) Value { return composite(Sequence, slices.Clone(members)) }

// pairsOf returns the value with these keys and values in order; undefined if there are none.
func pairsOf(pairs ...[2]string) Value {
	var parts []string
	for _, pair := range pairs {
		parts = append(parts, pair[:]...)
	}
	return composite(Mapping, parts)
}

// mapOf is [pairsOf] for a map, sorted by key.
func mapOf(m map[string]string) Value {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key, m[key])
	}
	return composite(Mapping, parts)
}
