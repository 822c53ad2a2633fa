package preview

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Unit is what a value consists of, in which it is read and shortened.
type Unit string

const (
	Lines    Unit = "lines"    // of a text
	Elements Unit = "elements" // of an array
	Members  Unit = "members"  // of an object
	Whole    Unit = "value"    // of a number, true, false or null: itself
)

// A sequence is a value as a sequence of units.
type sequence struct {
	unit  Unit
	data  []byte // the text, or the JSON of the value
	start int    // of the first unit
}

// newSequence returns the units of a JSON value. A text that is a JSON array or object is read as
// that, because many servers return their data as text.
func newSequence(value []byte) sequence {
	if text, ok := jsonscan.Unquote(value); ok {
		if inner, ok := container(text); ok {
			return newSequence(inner)
		}
		return sequence{Lines, text, 0}
	}
	unit := Whole
	switch value[0] {
	case '[':
		unit = Elements
	case '{':
		unit = Members
	default:
		return sequence{Whole, value, 0}
	}
	s := sequence{unit, value, jsonscan.Space(value, 1)}
	if s.start == len(value)-1 { // it is empty
		s.start = len(value)
	}
	return s
}

// container returns a text that is a JSON array or object, without surrounding white space.
func container(text []byte) (value []byte, ok bool) {
	i := jsonscan.Space(text, 0)
	if i == len(text) || text[i] != '{' && text[i] != '[' {
		return nil, false
	}
	end, err := jsonscan.Value(text, i)
	if err != nil || jsonscan.Space(text, end) != len(text) {
		return nil, false
	}
	return text[i:end], true
}

// step returns the end of the unit that starts at an offset, and the start of the next unit or
// len(data). value is where the value of a member starts.
func (s *sequence) step(start int) (value, end, next int) {
	value = start
	switch s.unit {
	case Lines:
		end = start + line(s.data[start:])
		return start, end, end
	case Whole:
		return start, len(s.data), len(s.data)
	case Members:
		_, value, _ = jsonscan.Key(s.data, start)
		value = jsonscan.Space(s.data, value)
	}
	end, _ = jsonscan.Value(s.data, value) // it is valid
	next = jsonscan.Space(s.data, end)
	if s.data[next] != ',' {
		return value, end, len(s.data)
	}
	return value, end, jsonscan.Space(s.data, next+1)
}

// brackets returns what surrounds the units, and what separates them.
func (u Unit) brackets() (open, separator, end string) {
	switch u {
	case Elements:
		return "[", ",", "]"
	case Members:
		return "{", ",", "}"
	}
	return "", "", ""
}
