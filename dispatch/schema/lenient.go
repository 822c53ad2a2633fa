package schema

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const (
	// maxLenientRounds limits the validations of a lenient ValidateAndFill. After each, it changes
	// up to maxCauses values.
	maxLenientRounds = 10
	maxRepairs       = 10  // that are described
	maxRepairPath    = 100 // bytes that are shown
)

// repair is ValidateAndFill for data that is invalid for the reason err and may be changed.
func (s *Schema) repair(data []byte, err error) (filled []byte, repairs []string, _ error) {
	v := s.get()
	defer s.put(v)
	rest := data
	for range maxLenientRounds {
		v.findings, v.omitted = v.findings[:0], 0
		last := v.validate(rest)
		if last == nil {
			filled, err := v.fillDefaults(rest)
			return filled, repairs, err
		}
		edits := edits{doc: &v.doc, values: map[uint32][]byte{}, repairs: repairs}
		for _, f := range v.findings {
			edits.find(f)
		}
		if len(edits.values) == 0 {
			return data, nil, last
		}
		repairs = edits.repairs
		rest = edits.append(make([]byte, 0, len(rest)), 0)
	}
	return data, nil, err
}

// edits are the changes of one round.
type edits struct {
	doc     *index
	values  map[uint32][]byte // by the node of a value: its new text; of a name: nil to remove it
	repairs []string
}

// find adds the change that prevents a finding, if there is one.
func (e *edits) find(f finding) {
	doc, n := e.doc, f.node
	if f.keyword == "additionalProperties" || f.keyword == "unevaluatedProperties" {
		if value := doc.member(n, f.property); value != 0 {
			e.set(value-1, value, nil, "an unknown property was removed")
		}
		return
	}
	switch k := doc.kind(n); {
	case k == null:
		if doc.isMember(n) {
			e.set(n-1, n, nil, "a null was removed")
		}
	case f.guessed || f.types == 0 || n == 0:
	case k == str && isNumber(doc.text(n), f.types):
		e.set(n, n, bytes.Clone(doc.text(n)), "a string was read as a number")
	case k == str && f.types&typeBoolean != 0 &&
		(string(doc.text(n)) == "true" || string(doc.text(n)) == "false"):
		e.set(n, n, bytes.Clone(doc.text(n)), "a string was read as a boolean")
	case f.types&typeArray != 0 && k != array &&
		(k != str || !bytes.HasPrefix(bytes.TrimSpace(doc.text(n)), []byte("["))):
		e.set(n, n, slices.Concat([]byte("["), doc.raw(n), []byte("]")),
			"a single value was put into an array")
	}
}

// isNumber reports whether text is a number of one of these types.
func isNumber(text []byte, types typeSet) bool {
	if !isJSONNumber(string(text)) {
		return false
	}
	d := jsonscan.ParseDecimal(text)
	return types&typeNumber != 0 || types&typeInteger != 0 && d.IsInteger()
}

// set sets the text of the node n, and describes the change of a value.
func (e *edits) set(n, value uint32, text []byte, how string) {
	if _, twice := e.values[n]; twice {
		return
	}
	e.values[n] = text
	if len(e.repairs) < maxRepairs {
		e.repairs = append(e.repairs,
			fmt.Sprintf("%.*s: %s", maxRepairPath, e.doc.pointer(0, value), how))
	}
}

// isMember reports whether a value belongs to a member, whose name is then the preceding node.
func (idx *index) isMember(n uint32) bool {
	if n == 0 || idx.kind(n-1) != str {
		return false
	}
	after := jsonscan.Space(idx.data, int(idx.nodes[n-1].end))
	return after < len(idx.data) && idx.data[after] == ':'
}

// append appends a value with the changes in it.
func (e *edits) append(dst []byte, n uint32) []byte {
	if text := e.values[n]; text != nil {
		return append(dst, text...)
	}
	separator := func(open byte) {
		if dst[len(dst)-1] != open {
			dst = append(dst, ',')
		}
	}
	switch e.doc.kind(n) {
	case object:
		dst = append(dst, '{')
		for name, value := range e.doc.members(n) {
			if _, removed := e.values[name]; !removed {
				separator('{')
				dst = append(append(dst, e.doc.raw(name)...), ':')
				dst = e.append(dst, value)
			}
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for item := range e.doc.items(n) {
			separator('[')
			dst = e.append(dst, item)
		}
		return append(dst, ']')
	}
	return append(dst, e.doc.raw(n)...)
}
