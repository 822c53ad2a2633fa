package schema

import (
	"errors"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxLenientRounds limits the validations of ValidateLeniently. After each, it removes up to
// MaxCauses properties.
const maxLenientRounds = 10

// ValidateLeniently is [Schema.ValidateAndFill], except that it first removes each property that is
// null and must not be, or that additionalProperties or unevaluatedProperties forbids, because some
// programs send such properties. It does not modify data. Data with more than 90 such properties is
// invalid. Valid data costs no more than with ValidateAndFill.
func (s *Schema) ValidateLeniently(data []byte) ([]byte, error) {
	filled, err := s.ValidateAndFill(data)
	if _, ok := errors.AsType[*Error](err); !ok {
		return filled, err
	}
	v := s.get()
	defer s.put(v)
	rest := data
	for range maxLenientRounds {
		v.findings, v.omitted = v.findings[:0], 0
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
func (v *validator) droppable() map[uint32]bool {
	doc, drop := &v.doc, make(map[uint32]bool)
	for _, f := range v.findings {
		switch {
		case f.keyword == "additionalProperties" || f.keyword == "unevaluatedProperties":
			if value := doc.member(f.node, f.property); value != 0 {
				drop[value-1] = true
			}
		case doc.kind(f.node) == null && doc.isMember(f.node):
			drop[f.node-1] = true
		}
	}
	return drop
}

// isMember reports whether a value belongs to a member, whose name is then the preceding node.
func (idx *index) isMember(n uint32) bool {
	if n == 0 || idx.kind(n-1) != str {
		return false
	}
	after := jsonscan.Space(idx.data, int(idx.nodes[n-1].end))
	return after < len(idx.data) && idx.data[after] == ':'
}

// appendWithout appends a value without the members with these names.
func (idx *index) appendWithout(dst []byte, n uint32, drop map[uint32]bool) []byte {
	separator := func(open byte) {
		if dst[len(dst)-1] != open {
			dst = append(dst, ',')
		}
	}
	switch idx.kind(n) {
	case object:
		dst = append(dst, '{')
		for name, value := range idx.members(n) {
			if !drop[name] {
				separator('{')
				dst = append(append(dst, idx.raw(name)...), ':')
				dst = idx.appendWithout(dst, value, drop)
			}
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for item := range idx.items(n) {
			separator('[')
			dst = idx.appendWithout(dst, item, drop)
		}
		return append(dst, ']')
	}
	return append(dst, idx.raw(n)...)
}
