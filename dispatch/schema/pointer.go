package schema

import (
	"slices"
	"strconv"
	"strings"
)

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// pointer returns the JSON Pointer from one value down to another within it. The name of a member counts as the object that has it.
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
					path.WriteString("/" + escapePointer.Replace(string(x.text(name))))
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

// follow returns the values that a JSON Pointer passes from a value on, the value itself and the last included; nil if it leads nowhere.
func (x *index) follow(from uint32, pointer string) []uint32 {
	way := []uint32{from}
	if pointer == "" {
		return way
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		at, next := way[len(way)-1], uint32(0)
		switch x.kind(at) {
		case object:
			next = x.member(at, unescapePointer.Replace(token))
		case array:
			if i, err := strconv.ParseUint(token, 10, 31); err == nil && token == strconv.FormatUint(i, 10) {
				items := slices.Collect(x.items(at))
				if i < uint64(len(items)) {
					next = items[i]
				}
			}
		}
		if next == 0 {
			return nil
		}
		way = append(way, next)
	}
	return way
}
