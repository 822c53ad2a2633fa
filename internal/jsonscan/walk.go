package jsonscan

import (
	"bytes"
	"iter"
)

// Members yields the members of an object in order: the token of each name, quotes included, and
// the value without surrounding white space. Both are slices of object, which must be valid. If it
// is not an object, Members yields nothing.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := Space(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for i = Space(object, i+1); i < len(object) && object[i] == '"'; {
			nameEnd := skipString(object, i)
			start := Space(object, Space(object, nameEnd)+1)
			end := skip(object, start)
			if !yield(object[i:nameEnd], object[start:end]) {
				return
			}
			i = Space(object, Space(object, end)+1)
		}
	}
}

// Named is [Members] with the decoded names.
func Named(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(name string, value []byte) bool) {
		for token, value := range Members(object) {
			if name, _ := Text(token); !yield(name, value) {
				return
			}
		}
	}
}

// Offset returns the offset of part in data. part must be a slice of data whose capacity extends to
// that of data, as those that Members and Elements yield.
func Offset(data, part []byte) int { return cap(data) - cap(part) }

// Same reports whether a and b are the same memory.
func Same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// Elements yields the elements of an array in order, as slices of array without surrounding white
// space. The array must be valid. If it is not an array, Elements yields nothing.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(element []byte) bool) {
		i := Space(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = Space(array, i+1); i < len(array) && array[i] != ']'; {
			end := skip(array, i)
			if end == i || !yield(array[i:end]) {
				return
			}
			i = Space(array, end)
			if i < len(array) && array[i] == ',' {
				i = Space(array, i+1)
			}
		}
	}
}

// Member returns the value of the first member with that name, or nil. The object must be valid.
func Member(object []byte, name string) []byte {
	for token, value := range Members(object) {
		if KeyIs(token, name) {
			return value
		}
	}
	return nil
}

// skip returns the end of the valid value at data[i].
func skip(data []byte, i int) int {
	if i >= len(data) {
		return i
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	for i < len(data) {
		switch data[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

func skipNested(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		// The quote ends the string unless an odd number of backslashes precedes it.
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return len(data)
}
