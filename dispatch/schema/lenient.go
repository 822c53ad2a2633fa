package schema

import (
	"errors"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxLenientRounds limits the validations of ValidateLeniently. Each removes up to MaxCauses
// properties.
const maxLenientRounds = 10

// ValidateLeniently is [Schema.ValidateAndFill] for objects that some programs write: it treats a
// property as absent if it is null and must not be, or if the schema forbids it as unknown. It
// returns data without these properties. Valid data costs no more than with ValidateAndFill.
func (s *Schema) ValidateLeniently(data []byte) ([]byte, error) {
	filled, err := s.ValidateAndFill(data)
	if _, ok := errors.AsType[*Error](err); !ok {
		return filled, err
	}
	v := s.get()
	defer s.put(v)
	rest := data
	for range maxLenientRounds {
		v.found, v.omitted = v.found[:0], 0
		last := v.validate(rest)
		if last == nil {
			return v.fillDefaults(rest)
		}
		drop := v.droppable()
		if len(drop) == 0 {
			return data, last
		}
		rest = v.doc.appendWithout(make([]byte, 0, len(rest)), 0, drop)
	}
	return data, err
}

// droppable returns the nodes of the names of properties that the validation refused because they
// are null or unknown.
func (v *run) droppable() map[uint32]bool {
	x, drop := &v.doc, make(map[uint32]bool)
	for _, f := range v.found {
		switch {
		case f.keyword == "additionalProperties" || f.keyword == "unevaluatedProperties":
			if value := x.member(f.node, f.property); value != 0 {
				drop[value-1] = true
			}
		case x.kind(f.node) == null && x.isMember(f.node):
			drop[f.node-1] = true
		}
	}
	return drop
}

// isMember reports whether a value is that of a member, with its name in the node before it.
func (x *index) isMember(n uint32) bool {
	if n == 0 || x.kind(n-1) != str {
		return false
	}
	after := jsonscan.Space(x.data, int(x.nodes[n-1].end))
	return after < len(x.data) && x.data[after] == ':'
}

// appendWithout appends a value without the members with these names.
func (x *index) appendWithout(dst []byte, n uint32, drop map[uint32]bool) []byte {
	separator := func(open byte) {
		if dst[len(dst)-1] != open {
			dst = append(dst, ',')
		}
	}
	switch x.kind(n) {
	case object:
		dst = append(dst, '{')
		for name, value := range x.members(n) {
			if !drop[name] {
				separator('{')
				dst = append(append(dst, x.raw(name)...), ':')
				dst = x.appendWithout(dst, value, drop)
			}
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for item := range x.items(n) {
			separator('[')
			dst = x.appendWithout(dst, item, drop)
		}
		return append(dst, ']')
	}
	return append(dst, x.raw(n)...)
}
