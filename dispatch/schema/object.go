package schema

import (
	"fmt"
	"math"
	"slices"
)

// objectRules are the keywords for objects.
//
// Every property name in them has a slot. One map access finds the slot of a member, and one bit of
// a set records that the member is present.
type objectRules struct {
	slotOf        map[string]int
	slots         []slot
	required      []int // slots, in the order of the keyword
	patterns      []patternProperty
	additional    *subschema
	propertyNames *subschema
	dependencies  []dependency
	minProperties int
	maxProperties int
}

type slot struct {
	name   string
	schema *subschema // from properties; nil for a name that is only in other keywords
}

type patternProperty struct {
	pattern *pattern
	schema  *subschema
}

// A dependency is a member of dependentRequired, dependentSchemas or dependencies: if the property
// of slot is present, the properties of required must be too, or schema applies to the object.
type dependency struct {
	keyword  string
	slot     int
	required []int // slots; used if schema is nil
	schema   *subschema
}

func (s *subschema) objectRules() *objectRules {
	if s.object == nil {
		s.object = &objectRules{slotOf: map[string]int{}, maxProperties: math.MaxInt}
	}
	return s.object
}

// slot returns the slot of a name, and adds one if there is none.
func (o *objectRules) slot(name string) int {
	i, ok := o.slotOf[name]
	if !ok {
		i = len(o.slots)
		o.slotOf[name] = i
		o.slots = append(o.slots, slot{name: name})
	}
	return i
}

func compileProperties(c *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != object {
		return fmt.Errorf("must be an object of schemas, is %s", doc.describe(at))
	}
	o := s.objectRules()
	o.slots = slices.Grow(o.slots, doc.count(at))
	for name, value := range doc.members(at) {
		i := o.slot(string(doc.text(name)))
		if o.slots[i].schema != nil {
			return fmt.Errorf("property %q occurs twice", o.slots[i].name)
		}
		o.slots[i].schema = c.subschema(s.res, value)
	}
	return nil
}

func compilePatternProperties(c *compiler, s *subschema, at uint32) error {
	doc := &s.res.doc.index
	if doc.kind(at) != object {
		return fmt.Errorf("must be an object of schemas, is %s", doc.describe(at))
	}
	o := s.objectRules()
	for name, value := range doc.members(at) {
		p, err := c.pattern(string(doc.text(name)))
		if err != nil {
			return err
		}
		o.patterns = append(o.patterns, patternProperty{p, c.subschema(s.res, value)})
	}
	return nil
}

// nameSlots returns the slots of the property names in an array of the schema.
func (o *objectRules) nameSlots(doc *index, at uint32) ([]int, error) {
	if doc.kind(at) != array {
		return nil, fmt.Errorf("must be an array of property names, is %s", doc.describe(at))
	}
	names := make([]int, 0, doc.count(at))
	for item := range doc.items(at) {
		if doc.kind(item) != str {
			return nil, fmt.Errorf("must be an array of property names, has %s in it",
				doc.describe(item))
		}
		names = append(names, o.slot(string(doc.text(item))))
	}
	seen := make(map[int]bool, len(names)) // a name may occur twice, and is missing once
	return slices.DeleteFunc(names, func(slot int) bool {
		again := seen[slot]
		seen[slot] = true
		return again
	}), nil
}

func compileRequired(_ *compiler, s *subschema, at uint32) (err error) {
	o := s.objectRules()
	o.required, err = o.nameSlots(&s.res.doc.index, at)
	return err
}

// What the values of dependentRequired, dependentSchemas and dependencies may be.
const (
	namesOnly = 1 << iota
	schemasOnly
	namesOrSchemas = namesOnly | schemasOnly
)

func compileDependencies(keyword string, allowed int) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		doc := &s.res.doc.index
		if doc.kind(at) != object {
			return fmt.Errorf("must be an object, is %s", doc.describe(at))
		}
		o := s.objectRules()
		for name, value := range doc.members(at) {
			d := dependency{keyword: keyword, slot: o.slot(string(doc.text(name)))}
			if allowed == namesOnly || allowed == namesOrSchemas && doc.kind(value) == array {
				var err error
				if d.required, err = o.nameSlots(doc, value); err != nil {
					return err
				}
			} else {
				d.schema = c.subschema(s.res, value)
			}
			o.dependencies = append(o.dependencies, d)
		}
		return nil
	}
}

// A bitset is a set of slots, or of positions of members or items.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

func (v *validator) checkObject(s *subschema, n uint32, evaluated bitset) bool {
	o, doc, ok := s.object, &v.doc, true
	var few [1]uint64
	present := bitset(few[:])
	if len(o.slots) > 64 {
		present = v.newBitset(len(o.slots))
	}
	count := 0
	for name, end := n+1, doc.nodes[n].next; name < end; name = doc.nodes[name+1].next {
		if !v.step(1 + v.stepsFor(name)) {
			return false
		}
		value, matched := name+1, false
		text := doc.text(name)
		if i, declared := o.slotOf[string(text)]; declared {
			if present.has(i) {
				return v.failDuplicate(n, string(text))
			}
			present.set(i)
			if property := o.slots[i].schema; property != nil {
				matched = true
				ok = v.eval(property, value, nil) && ok
			}
		}
		for i := range o.patterns {
			if v.matches(o.patterns[i].pattern, text) {
				matched = true
				ok = v.eval(o.patterns[i].schema, value, nil) && ok
			}
		}
		if !matched && o.additional != nil {
			matched = true
			if o.additional.validity == neverValid {
				ok = v.failUnknown(s, n, "additionalProperties", text)
			} else {
				ok = v.eval(o.additional, value, nil) && ok
			}
		}
		if o.propertyNames != nil {
			ok = v.checkPropertyName(o.propertyNames, name) && ok
		}
		if !ok && v.firstOnly {
			return false
		}
		if matched && evaluated != nil {
			evaluated.set(count)
		}
		count++
	}
	if count < o.minProperties {
		ok = v.fail(s, n, "minProperties", "", "must have at least %s, has %d",
			plural(o.minProperties, "property"), count)
	}
	if count > o.maxProperties {
		ok = v.fail(s, n, "maxProperties", "", "must have at most %s, has %d",
			plural(o.maxProperties, "property"), count)
	}
	if !v.step(len(o.required) + len(o.dependencies)) {
		return false
	}
	if !v.checkRequired(s, n, present) {
		ok = false
	}
	for i := range o.dependencies {
		if d := &o.dependencies[i]; present.has(d.slot) {
			ok = v.checkDependency(s, d, n, present, evaluated) && ok
		}
	}
	return ok
}

func (v *validator) checkRequired(s *subschema, n uint32, present bitset) bool {
	o, ok := s.object, true
	for _, i := range o.required {
		if present.has(i) {
			continue
		}
		if v.firstOnly {
			return false
		}
		ok = v.fail(s, n, "required", o.slots[i].name, "missing required property %q",
			truncate(o.slots[i].name))
	}
	return ok
}

func (v *validator) checkDependency(s *subschema, d *dependency, n uint32, present,
	evaluated bitset) bool {
	if d.schema != nil {
		return v.eval(d.schema, n, evaluated)
	}
	ok, o := v.step(len(d.required)), s.object
	for _, i := range d.required {
		if !present.has(i) {
			name := o.slots[i].name
			ok = v.fail(s, n, d.keyword, name,
				"missing property %q, which is required when %q is present", truncate(name),
				truncate(o.slots[d.slot].name))
		}
	}
	return ok
}

// checkPropertyName applies propertyNames to one name. The causes are about the object, so their
// reasons include the name.
func (v *validator) checkPropertyName(names *subschema, name uint32) bool {
	before := len(v.findings)
	if v.eval(names, name, nil) {
		return true
	}
	for i := before; i < len(v.findings); i++ {
		f := &v.findings[i]
		f.property = string(v.doc.text(name))
		f.reason = fmt.Sprintf("the property name %q %s", truncate(f.property), f.reason)
		f.showsValue = false // the reason has the name
	}
	return false
}

// failDuplicate ends the validation with an error, even below a keyword such as not, because
// readers disagree about which of two members with one name counts.
func (v *validator) failDuplicate(n uint32, name string) bool {
	v.stop(&Error{Causes: []Cause{{
		InstancePath: v.doc.pointer(0, n), Property: name,
		Reason: fmt.Sprintf("property %q occurs more than once", truncate(name)),
	}}})
	return false
}
