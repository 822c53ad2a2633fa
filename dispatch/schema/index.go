package schema

import (
	"bytes"
	"iter"
	"math"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A kind is the JSON type of a value.
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
	start, end uint32 // the offsets of its text
	next       uint32 // the index of the node after it and all nodes in it
	kind       kind
	escaped    bool // it is a string with an escape
}

// An index lists where each value of a document starts and ends, so that a value can be skipped,
// counted or visited twice without scanning its text again. Nodes have the order of the text; node
// 0 is the document's value. A node takes 16 bytes.
type index struct {
	data  []byte
	nodes []node
}

// build indexes data, which must be valid JSON. For other text it returns an error or builds a
// wrong index, but does not panic. It reuses the memory of the nodes.
func (idx *index) build(data []byte) error {
	idx.data, idx.nodes = data, idx.nodes[:0]
	if uint64(len(data)) > math.MaxUint32 {
		return &jsonscan.Error{Offset: len(data), Reason: "text of 4 GiB or more"}
	}
	const none = math.MaxUint32
	// the innermost open array or object, whose next is the enclosing one until it is closed
	open, depth := uint32(none), 0
	for i := 0; i < len(data); {
		if open == none && len(idx.nodes) > 0 {
			if i = jsonscan.Space(data, i); i < len(data) {
				return &jsonscan.Error{Offset: i, Reason: "text after the value"}
			}
			break
		}
		here, start := uint32(len(idx.nodes)), uint32(i)
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
			idx.nodes = append(idx.nodes, node{start: start, next: open, kind: k})
			open = here
			i++
		case '}', ']':
			if open == none || (idx.nodes[open].kind == object) != (c == '}') {
				return &jsonscan.Error{Offset: i, Reason: "a closing bracket that closes nothing"}
			}
			for k := open + 1; c == '}' && k < here; k = idx.nodes[k+1].next {
				if idx.nodes[k].kind != str || k+1 == here {
					return &jsonscan.Error{Offset: i,
						Reason: "a member has no name or no value"}
				}
			}
			i++
			depth--
			outer := idx.nodes[open].next
			idx.nodes[open].end, idx.nodes[open].next = uint32(i), here
			open = outer
		case '"':
			end := stringEnd(data, i)
			if end < 0 {
				return &jsonscan.Error{Offset: i, Reason: "a string has no end"}
			}
			escaped := bytes.IndexByte(data[i:end], '\\') >= 0
			idx.nodes = append(idx.nodes,
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
			for i++; i < len(data) && !endsScalar[data[i]]; i++ {
			}
			idx.nodes = append(idx.nodes,
				node{start: start, end: uint32(i), next: here + 1, kind: k})
		}
	}
	if open != none || len(idx.nodes) == 0 {
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

// endsScalar is true for the bytes that end a number or literal.
var endsScalar = [256]bool{' ': true, '\n': true, '\r': true, '\t': true, ',': true, ':': true,
	'}': true, ']': true, '{': true, '[': true, '"': true}

// estimateNodes estimates the number of nodes of data. Punctuation in strings makes the estimate
// too large, so it is limited for large texts.
func estimateNodes(data []byte) int {
	count := 1
	for _, before := range []byte("{[,:") { // each of them precedes a node
		count += bytes.Count(data, []byte{before})
	}
	return min(count, 4096+len(data)/16)
}

func (idx *index) kind(n uint32) kind { return idx.nodes[n].kind }

// raw returns the JSON text of a value, which is a slice of the document.
func (idx *index) raw(n uint32) []byte { return idx.data[idx.nodes[n].start:idx.nodes[n].end] }

// text returns the text of a string. It allocates only if the string has an escape.
func (idx *index) text(n uint32) []byte {
	at := idx.nodes[n]
	if !at.escaped {
		return idx.data[at.start+1 : at.end-1]
	}
	text, _ := jsonscan.Unquote(idx.data[at.start:at.end])
	return text
}

// isTrue reports whether a boolean is true.
func (idx *index) isTrue(n uint32) bool { return idx.data[idx.nodes[n].start] == 't' }

// count returns the number of items of an array or of members of an object.
func (idx *index) count(n uint32) int {
	count := 0
	for i, end := n+1, idx.nodes[n].next; i < end; i = idx.nodes[i].next {
		count++
	}
	if idx.nodes[n].kind == object {
		count /= 2
	}
	return count
}

// items yields the items of an array.
func (idx *index) items(n uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, end := n+1, idx.nodes[n].next; i < end && yield(i); i = idx.nodes[i].next {
		}
	}
}

// members yields the nodes of the name and the value of each member of an object.
func (idx *index) members(n uint32) iter.Seq2[uint32, uint32] {
	return func(yield func(uint32, uint32) bool) {
		for i, end := n+1, idx.nodes[n].next; i < end && yield(i, i+1); i = idx.nodes[i+1].next {
		}
	}
}

// duplicateMember returns the value of the first member of an object with the name of an earlier
// member, or 0 if all names differ. It compares few members pair by pair.
func (idx *index) duplicateMember(n uint32) uint32 {
	const few = 16
	var seen map[string]bool
	if idx.count(n) > few {
		seen = map[string]bool{}
	}
	for name, value := range idx.members(n) {
		text := idx.text(name)
		if seen != nil {
			if seen[string(text)] {
				return value
			}
			seen[string(text)] = true
			continue
		}
		for before := n + 1; before < name; before = idx.nodes[before+1].next {
			if string(idx.text(before)) == string(text) {
				return value
			}
		}
	}
	return 0
}

// member returns the value of the first member with that name, or 0 if there is none or n is not an
// object.
func (idx *index) member(n uint32, name string) uint32 {
	if idx.nodes[n].kind == object {
		for k, v := range idx.members(n) {
			if string(idx.text(k)) == name {
				return v
			}
		}
	}
	return 0
}
