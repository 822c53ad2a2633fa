package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// pointer returns the JSON Pointer from a value to another in it. If to is the name of a member, it
// returns the pointer to the member's object.
func (idx *index) pointer(from, to uint32) string {
	var path strings.Builder
	for at := from; at != to; {
		next := uint32(0)
		switch idx.kind(at) {
		case array:
			position := 0
			for item := range idx.items(at) {
				if to < idx.nodes[item].next {
					path.WriteString("/" + strconv.Itoa(position))
					next = item
					break
				}
				position++
			}
		case object:
			for name, value := range idx.members(at) {
				if to == name {
					return path.String()
				}
				if to < idx.nodes[value].next {
					path.WriteString("/" + jsonscan.EscapePointer(string(idx.text(name))))
					next = value
					break
				}
			}
		}
		if at = next; at == 0 {
			break
		}
	}
	return path.String()
}

// cachedMember returns the value of an object's first member with that name, or 0 if there is none.
// It caches the members of large objects, because many references may pass through one.
func (d *document) cachedMember(n uint32, name string) uint32 {
	const few = 16
	if members, known := d.byName[n]; known {
		return members[name]
	}
	count := d.count(n)
	if count <= few {
		return d.member(n, name)
	}
	members := make(map[string]uint32, count)
	for name, value := range d.members(n) {
		text := string(d.text(name))
		if _, twice := members[text]; !twice {
			members[text] = value
		}
	}
	if d.byName == nil {
		d.byName = map[uint32]map[string]uint32{}
	}
	d.byName[n] = members
	return members[name]
}

// cachedItem returns the item of an array at a position, or 0 if there is none. It caches all
// items, because many references may pass through the array.
func (d *document) cachedItem(n uint32, position uint64) uint32 {
	items, known := d.byPosition[n]
	if !known {
		items = slices.Collect(d.items(n))
		if d.byPosition == nil {
			d.byPosition = map[uint32][]uint32{}
		}
		d.byPosition[n] = items
	}
	if position < uint64(len(items)) {
		return items[position]
	}
	return 0
}

// follow returns the values on the path of a JSON Pointer, both ends included, or nil if there is
// no value at the pointer.
func (d *document) follow(from uint32, pointer string) []uint32 {
	path := []uint32{from}
	if pointer == "" {
		return path
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		at, next := path[len(path)-1], uint32(0)
		switch d.kind(at) {
		case object:
			next = d.cachedMember(at, jsonscan.UnescapePointer(token))
		case array:
			if i, err := strconv.ParseUint(token, 10, 31); err == nil &&
				token == strconv.FormatUint(i, 10) {
				next = d.cachedItem(at, i)
			}
		}
		if next == 0 {
			return nil
		}
		path = append(path, next)
	}
	return path
}

// valueName returns a JSON Pointer as programmers write a path: size.height, points[0]. A name that
// would be ambiguous is quoted: ["a.b"]. A number is written as an index, even if it is the name of
// a member, because the pointer does not distinguish them.
func valueName(pointer string) string {
	var name strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = jsonscan.UnescapePointer(token)
		switch {
		case pointer == "":
		case isIndex(token):
			name.WriteString("[" + token + "]")
		case !isPlain(token):
			name.WriteString("[" + strconv.Quote(token) + "]")
		case name.Len() > 0:
			name.WriteString("." + token)
		default:
			name.WriteString(token)
		}
	}
	return truncate(name.String())
}

const maxName = 100 // characters of a name or pattern in a message

// truncate returns at most maxName characters of a name or pattern.
func truncate(name string) string {
	runes := 0
	for i := range name {
		if runes == maxName {
			return name[:i] + "…"
		}
		runes++
	}
	return name
}

func isIndex(token string) bool {
	n, err := strconv.ParseUint(token, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == token
}

// isPlain reports whether a name consists of letters, digits, and punctuation that cannot be taken
// for an end of the name.
func isPlain(token string) bool {
	return token != "" && strings.IndexFunc(token, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-$@", c)
	}) < 0
}
