package schema

import (
	"slices"
	"strconv"
	"strings"

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
