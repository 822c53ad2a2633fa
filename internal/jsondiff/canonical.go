package jsondiff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxNesting is how deep a text may be nested.
const maxNesting = 200

// Canonical returns valid JSON text in canonical form: without white space, members sorted by name,
// strings with as few escapes as possible, numbers unchanged. It fails if a name occurs twice in an
// object, because readers differ in which member they use, and for text nested more than 200 deep.
func Canonical(text []byte) ([]byte, error) {
	return canonical(make([]byte, 0, len(text)), text, 0)
}

func canonical(dst, text []byte, depth int) ([]byte, error) {
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return dst, errors.New("the text is empty")
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

// A member is a member of an object, with its name unquoted. It may share memory with the object.
type member struct{ name, value []byte }

// members appends the members of an object to all, which is empty, and sorts them by name.
func members(all []member, object []byte) ([]member, error) {
	for token, value := range jsonscan.Members(object) {
		name, _ := jsonscan.Unquote(token)
		all = append(all, member{name, value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	for i := 1; i < len(all); i++ {
		if bytes.Equal(all[i].name, all[i-1].name) {
			return nil, fmt.Errorf("%.100q occurs twice", all[i].name)
		}
	}
	return all, nil
}

func canonicalObject(dst, text []byte, depth int) ([]byte, error) {
	var room [8]member // most objects of schemas have no more
	all, err := members(room[:0], text)
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
