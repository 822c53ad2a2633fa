package schema

import (
	"errors"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func compileDefault(c *compiler, s *subschema, at uint32) (err error) {
	c.defaults = true
	s.defaultValue, err = jsonscan.AppendCompact(nil, s.res.doc.raw(at))
	return err
}

// An insertion is a member to insert into an object.
type insertion struct {
	at     uint32 // the offset of the object's closing brace
	first  bool   // the object has no member yet
	name   string
	member []byte // its value
}

// FillDefaults returns data with the defaults of missing properties added. It follows properties,
// prefixItems, items, $ref and allOf at any depth, but not anyOf, oneOf, if and the like, because
// which of their subschemas apply depends on the instance. It adds no defaults within a default.
//
// data must be one valid JSON value. FillDefaults does not modify it, and returns data itself if no
// default is missing. It does not validate. The error wraps [ErrLimit], as that of Validate does,
// or says that data is not JSON; the result is then data.
func (s *Schema) FillDefaults(data []byte) ([]byte, error) {
	if !s.defaults {
		return data, nil
	}
	v := s.get()
	defer s.put(v)
	if err := v.doc.build(data); err != nil {
		return data, err
	}
	return v.fillDefaults(data)
}

// ValidateAndFill is [Schema.ValidateScanned] and, if data is valid, [Schema.FillDefaults], but
// indexes data only once. On an error it returns data.
//
// If lenient is set, it first changes what some programs, and language models, send in place of
// valid data:
//
//   - It removes a property that is null and must not be, or that additionalProperties or
//     unevaluatedProperties forbids.
//   - Where the schema allows no string, it reads a string as the number or boolean that it spells.
//   - Where the schema requires an array, it puts a single value into one, unless the value is null
//     or text that begins with "[".
//
// It does not modify data. Data with more than 90 such values is invalid. Valid data costs no more
// than without lenient. Repairs describes the first 10 changes, for a log: the JSON Pointer to each
// value, and how it was changed, without the value itself.
func (s *Schema) ValidateAndFill(data []byte, lenient bool) (filled []byte, repairs []string,
	err error) {
	filled, err = s.validateAndFill(data)
	if err == nil || !lenient {
		return filled, nil, err
	}
	if _, invalid := errors.AsType[*Error](err); !invalid {
		return data, nil, err
	}
	return s.repair(data, err)
}

func (s *Schema) validateAndFill(data []byte) ([]byte, error) {
	if !s.defaults {
		return data, s.ValidateScanned(data)
	}
	v := s.get()
	defer s.put(v)
	if err := v.validate(data); err != nil {
		return data, err
	}
	return v.fillDefaults(data)
}

// fillDefaults is FillDefaults for data that has been indexed.
func (v *validator) fillDefaults(data []byte) ([]byte, error) {
	s := v.schema
	v.startPass(true)
	missing := v.fill(nil, []*subschema{s.root}, 0)
	if v.err != nil {
		return data, v.err
	}
	if len(missing) == 0 {
		return data, nil
	}
	filled, copied := make([]byte, 0, len(data)+64*len(missing)), uint32(0)
	for _, m := range missing {
		filled = append(filled, data[copied:m.at]...)
		copied = m.at
		if !m.first {
			filled = append(filled, ',')
		}
		filled = jsonscan.AppendString(filled, m.name)
		filled = append(append(filled, ':'), m.member...)
	}
	return append(filled, data[copied:]...), nil
}

// fill appends to missing the insertions for the value at a node and for the values in it. schemas
// are the subschemas that apply to the value; the caller has taken a step for each but the root.
func (v *validator) fill(missing []insertion, schemas []*subschema, n uint32) []insertion {
	for i := 0; i < len(schemas); i++ {
		for part := range schemas[i].unconditional {
			if !v.step(1) {
				return missing
			}
			schemas = append(schemas, part)
		}
	}
	if len(schemas) == 0 {
		return missing
	}
	doc := &v.doc
	switch doc.kind(n) {
	case array:
		position := 0
		for item := range doc.items(n) {
			if !v.step(len(schemas)) {
				return missing
			}
			var below []*subschema
			for _, s := range schemas {
				if s.array != nil && position < len(s.array.prefix) {
					below = append(below, s.array.prefix[position])
				} else if s.array != nil && s.array.rest != nil {
					below = append(below, s.array.rest)
				}
			}
			missing = v.fill(missing, below, item)
			position++
		}
	case object:
		for name, value := range doc.members(n) {
			if !v.step(len(schemas) * (1 + v.stepsFor(name))) {
				return missing
			}
			var below []*subschema
			for _, s := range schemas {
				if property := s.property(string(doc.text(name))); property != nil {
					below = append(below, property)
				}
			}
			missing = v.fill(missing, below, value)
		}
		missing = v.fillObject(missing, schemas, n)
	}
	return missing
}

// fillObject appends the insertions for an object itself.
func (v *validator) fillObject(missing []insertion, schemas []*subschema, n uint32) []insertion {
	doc := &v.doc
	first := len(missing)
	const few = 16
	var many map[string]bool // names of missing properties, if there are more than a few
	for _, s := range schemas {
		if s.object == nil {
			continue
		}
		if !v.step(len(s.object.slots)) {
			return missing
		}
		for _, slot := range s.object.slots {
			if slot.schema == nil || slot.schema.defaultValue == nil || many[slot.name] ||
				many == nil && slices.ContainsFunc(missing[first:],
					func(m insertion) bool { return m.name == slot.name }) {
				continue
			}
			if !v.step(int(doc.nodes[n].next-n) + len(slot.schema.defaultValue)) {
				return missing
			}
			if doc.member(n, slot.name) == 0 {
				empty := doc.nodes[n].next == n+1 && len(missing) == first
				missing = append(missing,
					insertion{doc.nodes[n].end - 1, empty, slot.name, slot.schema.defaultValue})
				switch {
				case many != nil:
					many[slot.name] = true
				case len(missing)-first == few:
					many = map[string]bool{}
					for _, m := range missing[first:] {
						many[m.name] = true
					}
				}
			}
		}
	}
	return missing
}

// property returns the subschema of a property in properties, or nil if there is none.
func (s *subschema) property(name string) *subschema {
	if s.object != nil {
		if i, ok := s.object.slotOf[name]; ok {
			return s.object.slots[i].schema
		}
	}
	return nil
}

// unconditional yields the subschemas that s applies to every instance: the target of $ref, and
// those of allOf.
func (s *subschema) unconditional(yield func(*subschema) bool) {
	if s.logic == nil || s.logic.ref != nil && !yield(s.logic.ref) {
		return
	}
	for _, part := range s.logic.allOf {
		if !yield(part) {
			return
		}
	}
}
