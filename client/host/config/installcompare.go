package config

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// equalJSON reports whether two valid texts are equal except for white space and the order of
// members.
func equalJSON(a, b []byte) bool { return bytes.Equal(sorted(a), sorted(b)) }

// sorted returns a valid text without white space, with members in the order of their names.
func sorted(text []byte) []byte {
	switch text[0] {
	case '{':
		var members []insertion
		for token, value := range jsonscan.Members(text) {
			name, _ := jsonscan.Text(token)
			members = append(members, insertion{name, sorted(value)})
		}
		slices.SortStableFunc(members, func(a, b insertion) int {
			return cmp.Compare(a.name, b.name)
		})
		return objectJSON(members)
	case '[':
		var elements []insertion
		for element := range jsonscan.Elements(text) {
			elements = append(elements, insertion{"", sorted(element)})
		}
		return arrayJSON(elements)
	case '"':
		s, _ := jsonscan.Text(text)
		return jsonscan.AppendString(nil, s)
	}
	return text
}

// without returns the sorted form of a text, without the member at a path of keys and without the
// objects that contain only that member.
func without(t *text, keys []string) []byte {
	root, ok := t.root()
	if !ok {
		return []byte("{}")
	}
	return withoutMember(root.raw(), keys)
}

func withoutMember(text []byte, keys []string) []byte {
	if text[0] != '{' || len(keys) == 0 {
		return sorted(text)
	}
	var rest []insertion
	for token, value := range jsonscan.Members(text) {
		name, _ := jsonscan.Text(token)
		if name != keys[0] {
			rest = append(rest, insertion{name, value})
			continue
		}
		if len(keys) == 1 {
			continue
		}
		if value = withoutMember(value, keys[1:]); string(value) != "{}" {
			rest = append(rest, insertion{name, value})
		}
	}
	return sorted(objectJSON(rest))
}
