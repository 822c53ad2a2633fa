package jsonedit

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Equal reports whether two valid JSON texts are equal except for white space and the order of
// members. A text in which an object has two members of one name is equal to itself only.
func Equal(a, b []byte) bool { return bytes.Equal(canonical(a), canonical(b)) }

// canonical returns the canonical form of a valid text or, if it has none, the text.
func canonical(text []byte) []byte {
	if form, err := jsondiff.Canonical(text); err == nil {
		return form
	}
	return text
}

// Without returns the content of a text without the member at a path of keys and without the
// objects that contain only that member. Two contents that are the same bytes are equal.
func (t *Text) Without(keys []string) []byte {
	root, ok := t.Root()
	if !ok {
		return []byte("{}")
	}
	return without(root.JSON(), keys)
}

func without(text []byte, keys []string) []byte {
	if text[0] != '{' || len(keys) == 0 {
		return canonical(text)
	}
	var rest []Item
	for name, value := range jsonscan.Named(text) {
		switch {
		case name != keys[0]:
			rest = append(rest, Item{name, canonical(value)})
		case len(keys) > 1:
			if value = without(value, keys[1:]); string(value) != "{}" {
				rest = append(rest, Item{name, value})
			}
		}
	}
	slices.SortStableFunc(rest, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	return Object(rest)
}
