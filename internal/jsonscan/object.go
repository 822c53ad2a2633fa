package jsonscan

import "slices"

// AppendMember appends a member to an object without its closing brace. name is a JSON string, as
// from [Members] or [AppendString].
func AppendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(append(object, name...), ':'), value...)
}

// AppendElement appends an element to an array that has no closing bracket yet.
func AppendElement(array, element []byte) []byte {
	if len(array) > 1 {
		array = append(array, ',')
	}
	return append(array, element...)
}

// SetMember returns a copy of an object in which a member is replaced, or appended if it is absent.
// The object must be valid.
func SetMember(object []byte, name string, value []byte) []byte {
	set, found := append(make([]byte, 0, len(object)+len(name)+len(value)+len(`,"":`)), '{'), false
	for token, old := range Members(object) {
		if KeyIs(token, name) {
			old, found = value, true
		}
		set = AppendMember(set, token, old)
	}
	if !found {
		set = AppendMember(set, AppendString(nil, name), value)
	}
	return append(set, '}')
}

// Without returns an object without the members with these names: the object itself if it has none
// of them.
func Without(object []byte, names ...string) []byte {
	if !slices.ContainsFunc(names, func(name string) bool { return Member(object, name) != nil }) {
		return object
	}
	rest := []byte{'{'}
	for token, value := range Members(object) {
		if !slices.ContainsFunc(names, func(name string) bool { return KeyIs(token, name) }) {
			rest = AppendMember(rest, token, value)
		}
	}
	return append(rest, '}')
}
