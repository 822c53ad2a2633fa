package jsondiff

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxNesting is how deep a text may be.
const maxNesting = 200

// Canonical returns a JSON text, which must be valid, in the one form that all texts with the same meaning have: no white space, members in the order of their names, strings with as
// few escapes as can be. Numbers stay as they are written. What is there twice in an object is an error: readers differ in which of the two they take; so is nesting of more than 200.
func Canonical(text []byte) ([]byte, error) { return canonical(nil, text, 0) }

func canonical(dst, text []byte, depth int) ([]byte, error) {
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return dst, fmt.Errorf("there is no JSON")
	}
	text = bytes.TrimRight(text[i:], " \t\r\n")
	if depth > maxNesting {
		return dst, fmt.Errorf("it is nested more than %d deep", maxNesting)
	}
	switch text[0] {
	case '{':
		return canonicalObject(dst, text, depth)
	case '[':
		dst = append(dst, '[')
		first := true
		for element := range jsonscan.Elements(text) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			var err error
			if dst, err = canonical(dst, element, depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case '"':
		s, _ := jsonscan.Unquote(text)
		return jsonscan.AppendString(dst, s), nil
	}
	return append(dst, text...), nil
}

// A member is one of an object's, with its name unescaped.
type member struct {
	name  string
	value []byte
}

// members returns an object's, in the order of their names.
func members(object []byte) ([]member, error) {
	var all []member
	for token, value := range jsonscan.Members(object) {
		name, _ := jsonscan.Text(token)
		all = append(all, member{name, value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	for i := 1; i < len(all); i++ {
		if all[i].name == all[i-1].name {
			return nil, fmt.Errorf("%.100q is there twice", all[i].name)
		}
	}
	return all, nil
}

func canonicalObject(dst, text []byte, depth int) ([]byte, error) {
	all, err := members(text)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for i, m := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, m.name), ':')
		if dst, err = canonical(dst, m.value, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}
