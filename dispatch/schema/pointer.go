package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// pointer returns the JSON Pointer from a value to another in it. For the name of a member, it
// returns that of the member's object.
func (x *index) pointer(from, to uint32) string {
	var path strings.Builder
	for at := from; at != to; {
		next := uint32(0)
		switch x.kind(at) {
		case array:
			position := 0
			for item := range x.items(at) {
				if to < x.nodes[item].next {
					path.WriteString("/" + strconv.Itoa(position))
					next = item
					break
				}
				position++
			}
		case object:
			for name, value := range x.members(at) {
				if to == name {
					return path.String()
				}
				if to < x.nodes[value].next {
					path.WriteString("/" + jsonscan.EscapePointer(string(x.text(name))))
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

// named returns the value of an object's first member with that name, or 0 if there is none. It
// caches the members of large objects, because many references may pass through one.
func (d *document) named(n uint32, name string) uint32 {
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

// item returns the item of an array at a position, or 0 if there is none. It caches all items,
// because many references may pass through the array.
func (d *document) item(n uint32, position uint64) uint32 {
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

// follow returns the values on the path of a JSON Pointer, from the first value to the last
// inclusive, or nil if there is no such path.
func (d *document) follow(from uint32, pointer string) []uint32 {
	way := []uint32{from}
	if pointer == "" {
		return way
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		at, next := way[len(way)-1], uint32(0)
		switch d.kind(at) {
		case object:
			next = d.named(at, jsonscan.UnescapePointer(token))
		case array:
			if i, err := strconv.ParseUint(token, 10, 31); err == nil &&
				token == strconv.FormatUint(i, 10) {
				next = d.item(at, i)
			}
		}
		if next == 0 {
			return nil
		}
		way = append(way, next)
	}
	return way
}
