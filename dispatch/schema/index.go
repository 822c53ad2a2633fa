package schema

import (
	"bytes"
	"iter"
	"math"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// kind is the JSON type of a value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	str
	array
	object
)

// A node is one value of a document, or the name of a member, which directly precedes the member's
// value.
type node struct {
	start, end uint32 // its bytes
	next       uint32 // the node behind it and all that it holds
	kind       kind
	escaped    bool // a string with an escape in it
}

// An index lists where each value of a document starts and ends, so that a value can be skipped,
// counted or visited twice without scanning its text again. Nodes are in document order; node 0 is
// the document's value. A node has 16 bytes, and refers to the text.
type index struct {
	data  []byte
	nodes []node
}

// build indexes data, which must be valid JSON. For other text the result is an error or a wrong
// index, but not a panic. It reuses the memory of the nodes.
func (x *index) build(data []byte) error {
	x.data, x.nodes = data, x.nodes[:0]
	if uint64(len(data)) > math.MaxUint32 {
		return &jsonscan.Error{Offset: len(data), Reason: "text of 4 GiB or more"}
	}
	const none = math.MaxUint32
	// the innermost open container; its next is the one around it until it closes
	open, depth := uint32(none), 0
	for i := 0; i < len(data); {
		if open == none && len(x.nodes) > 0 {
			if i = jsonscan.Space(data, i); i < len(data) {
				return &jsonscan.Error{Offset: i, Reason: "text after the value"}
			}
			break
		}
		here, start := uint32(len(x.nodes)), uint32(i)
		switch c := data[i]; c {
		case ' ', '\n', '\r', '\t', ',', ':':
			i++
			continue
		case '{', '[':
			k := array
			if c == '{' {
				k = object
			}
			if depth++; depth > jsonscan.MaxDepth {
				return &jsonscan.Error{Offset: i, Reason: "nested too deeply"}
			}
			x.nodes = append(x.nodes, node{start: start, next: open, kind: k})
			open = here
			i++
		case '}', ']':
			if open == none || (x.nodes[open].kind == object) != (c == '}') {
				return &jsonscan.Error{Offset: i, Reason: "nothing to close here"}
			}
			for k := open + 1; c == '}' && k < here; k = x.nodes[k+1].next {
				if x.nodes[k].kind != str || k+1 == here {
					return &jsonscan.Error{Offset: i,
						Reason: "an object wants a name and a value for each member"}
				}
			}
			i++
			depth--
			outer := x.nodes[open].next
			x.nodes[open].end, x.nodes[open].next = uint32(i), here
			open = outer
		case '"':
			end := stringEnd(data, i)
			if end < 0 {
				return &jsonscan.Error{Offset: i, Reason: "a string has no end"}
			}
			escaped := bytes.IndexByte(data[i:end], '\\') >= 0
			x.nodes = append(x.nodes,
				node{start: start, end: uint32(end), next: here + 1, kind: str, escaped: escaped})
			i = end
		default:
			k := number
			switch c {
			case 'n':
				k = null
			case 't', 'f':
				k = boolean
			}
			for i++; i < len(data) && !ends[data[i]]; i++ {
			}
			x.nodes = append(x.nodes, node{start: start, end: uint32(i), next: here + 1, kind: k})
		}
	}
	if open != none || len(x.nodes) == 0 {
		return &jsonscan.Error{Offset: len(data), Reason: "a value has no end"}
	}
	return nil
}

// stringEnd returns the end of the string token that starts at data[i], or -1 if it has no end.
func stringEnd(data []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n + 1
		slashes := 0
		for data[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 { // else the quote is escaped
			return i
		}
	}
}

// ends has the bytes that end a number or literal.
var ends = [256]bool{' ': true, '\n': true, '\r': true, '\t': true, ',': true, ':': true, '}': true,
	']': true, '{': true, '[': true, '"': true}

// nodesIn estimates the number of nodes for data. The text of strings and empty containers can make
// the estimate too large, so it is capped for large texts.
func nodesIn(data []byte) int {
	count := 1
	for _, before := range []byte("{[,:") { // of each of them stands before a node
		count += bytes.Count(data, []byte{before})
	}
	return min(count, 4096+len(data)/16)
}

func (x *index) kind(n uint32) kind { return x.nodes[n].kind }

// raw returns the JSON text of a value.
func (x *index) raw(n uint32) []byte { return x.data[x.nodes[n].start:x.nodes[n].end] }

// text returns the text of a string. It allocates only if the string has an escape.
func (x *index) text(n uint32) []byte {
	at := x.nodes[n]
	if !at.escaped {
		return x.data[at.start+1 : at.end-1]
	}
	text, _ := jsonscan.Unquote(x.data[at.start:at.end])
	return text
}

// isTrue reports whether a boolean is true.
func (x *index) isTrue(n uint32) bool { return x.data[x.nodes[n].start] == 't' }

// count returns the number of items of an array or of members of an object.
func (x *index) count(n uint32) int {
	count := 0
	for i, end := n+1, x.nodes[n].next; i < end; i = x.nodes[i].next {
		count++
	}
	if x.nodes[n].kind == object {
		count /= 2
	}
	return count
}

// items yields the items of an array.
func (x *index) items(n uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, end := n+1, x.nodes[n].next; i < end && yield(i); i = x.nodes[i].next {
		}
	}
}

// members yields the members of an object: the node of the name, and of the value.
func (x *index) members(n uint32) iter.Seq2[uint32, uint32] {
	return func(yield func(uint32, uint32) bool) {
		for i, end := n+1, x.nodes[n].next; i < end && yield(i, i+1); i = x.nodes[i+1].next {
		}
	}
}

// twice returns the value of the first member of an object whose name occurs before it, or 0 if all
// names differ. It compares few members pair by pair.
func (x *index) twice(n uint32) uint32 {
	const few = 16
	var seen map[string]bool
	if x.count(n) > few {
		seen = map[string]bool{}
	}
	for name, value := range x.members(n) {
		text := x.text(name)
		if seen != nil {
			if seen[string(text)] {
				return value
			}
			seen[string(text)] = true
			continue
		}
		for before := n + 1; before < name; before = x.nodes[before+1].next {
			if string(x.text(before)) == string(text) {
				return value
			}
		}
	}
	return 0
}

// member returns the value of a member, or 0 if there is none or n is not an object.
func (x *index) member(n uint32, name string) uint32 {
	if x.nodes[n].kind == object {
		for k, v := range x.members(n) {
			if string(x.text(k)) == name {
				return v
			}
		}
	}
	return 0
}
