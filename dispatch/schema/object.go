package schema

import (
	"fmt"
	"math"
	"slices"
)

// objectRules are the keywords for objects.
//
// Every name in them has a slot. One map access finds the slot of a member, and one bit of a set
// records that the member is present.
type objectRules struct {
	slotOf        map[string]int
	slots         []slot
	required      []int // the slots, in the order of the keyword
	patterns      []patternProperty
	additional    *subschema
	propertyNames *subschema
	dependencies  []dependency
	minProperties int
	maxProperties int
}

type slot struct {
	name   string
	schema *subschema // in properties; nil for a name that is only in other keywords
}

type patternProperty struct {
	pattern *pattern
	schema  *subschema
}

// A dependency is the properties, or the schema, that the presence of a property requires.
type dependency struct {
	keyword string
	slot    int
	needs   []int
	schema  *subschema
}

func (s *subschema) objects() *objectRules {
	if s.object == nil {
		s.object = &objectRules{slotOf: map[string]int{}, maxProperties: math.MaxInt}
	}
	return s.object
}

// slot returns the slot of a name, which it adds if necessary.
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
	x := &s.res.doc.index
	if x.kind(at) != object {
		return fmt.Errorf("must be an object of schemas, is %s", x.describe(at))
	}
	o := s.objects()
	o.slots = slices.Grow(o.slots, x.count(at))
	for name, value := range x.members(at) {
		i := o.slot(string(x.text(name)))
		if o.slots[i].schema != nil {
			return fmt.Errorf("property %q occurs twice", o.slots[i].name)
		}
		o.slots[i].schema = c.subschema(s.res, value)
	}
	return nil
}

func compilePatternProperties(c *compiler, s *subschema, at uint32) error {
	x := &s.res.doc.index
	if x.kind(at) != object {
		return fmt.Errorf("must be an object of schemas, is %s", x.describe(at))
	}
	o := s.objects()
	for name, value := range x.members(at) {
		p, err := c.pattern(string(x.text(name)))
		if err != nil {
			return err
		}
		o.patterns = append(o.patterns, patternProperty{p, c.subschema(s.res, value)})
	}
	return nil
}

// namesAt returns the slots of a list of property names.
func (o *objectRules) namesAt(x *index, at uint32) ([]int, error) {
	if x.kind(at) != array {
		return nil, fmt.Errorf("must be a list of property names, is %s", x.describe(at))
	}
	names := make([]int, 0, x.count(at))
	for item := range x.items(at) {
		if x.kind(item) != str {
			return nil, fmt.Errorf("must be a list of property names, has %s in it",
				x.describe(item))
		}
		names = append(names, o.slot(string(x.text(item))))
	}
	return names, nil
}

func compileRequired(_ *compiler, s *subschema, at uint32) (err error) {
	o := s.objects()
	o.required, err = o.namesAt(&s.res.doc.index, at)
	return err
}

// The kinds of values of a keyword for dependencies.
const (
	namesOnly = 1 << iota
	schemasOnly
	namesOrSchemas = namesOnly | schemasOnly
)

func compileDependencies(keyword string, allowed int) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		x := &s.res.doc.index
		if x.kind(at) != object {
			return fmt.Errorf("must be an object, is %s", x.describe(at))
		}
		o := s.objects()
		for name, value := range x.members(at) {
			d := dependency{keyword: keyword, slot: o.slot(string(x.text(name)))}
			if allowed == namesOnly || allowed == namesOrSchemas && x.kind(value) == array {
				var err error
				if d.needs, err = o.namesAt(x, value); err != nil {
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

// A bitset is a set of small numbers: slots, or positions of members and items.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

func (v *run) checkObject(s *subschema, n uint32, evaluated bitset) bool {
	o, x, ok := s.object, &v.doc, true
	var few [1]uint64
	present := bitset(few[:])
	if len(o.slots) > 64 {
		present = v.take(len(o.slots))
	}
	count := 0
	for name, end := n+1, x.nodes[n].next; name < end; name = x.nodes[name+1].next {
		if !v.step(1 + v.stepsFor(name)) {
			return false
		}
		value, matched := name+1, false
		text := x.text(name)
		if i, declared := o.slotOf[string(text)]; declared {
			if present.has(i) {
				return v.repeatedName(n, string(text))
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
			if o.additional.verdict == refuses {
				ok = v.failUnknown(s, n, "additionalProperties", text)
			} else {
				ok = v.eval(o.additional, value, nil) && ok
			}
		}
		if o.propertyNames != nil {
			ok = v.checkName(o.propertyNames, name) && ok
		}
		if !ok && v.quick {
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

func (v *run) checkRequired(s *subschema, n uint32, present bitset) bool {
	o, ok := s.object, true
	for _, i := range o.required {
		if present.has(i) {
			continue
		}
		if v.quick {
			return false
		}
		ok = v.fail(s, n, "required", o.slots[i].name, "missing required property %q",
			clip(o.slots[i].name))
	}
	return ok
}

func (v *run) checkDependency(s *subschema, d *dependency, n uint32, present,
	evaluated bitset) bool {
	if d.schema != nil {
		return v.eval(d.schema, n, evaluated)
	}
	ok, o := v.step(len(d.needs)), s.object
	for _, i := range d.needs {
		if !present.has(i) {
			name := o.slots[i].name
			ok = v.fail(s, n, d.keyword, name,
				"missing property %q, which is required when %q is present", clip(name),
				clip(o.slots[d.slot].name))
		}
	}
	return ok
}

// checkName applies propertyNames to one name. The causes are about the object, so they include the
// name.
func (v *run) checkName(names *subschema, name uint32) bool {
	before := len(v.found)
	if v.eval(names, name, nil) {
		return true
	}
	for i := before; i < len(v.found); i++ {
		f := &v.found[i]
		f.property = string(v.doc.text(name))
		f.reason = fmt.Sprintf("the property name %q %s", clip(f.property), f.reason)
		f.refused = false // the name is in the reason
	}
	return false
}

// repeatedName ends the validation, because readers disagree about which of two members with one
// name counts.
func (v *run) repeatedName(n uint32, name string) bool {
	v.stop(&Error{Causes: []Cause{{
		InstancePath: v.doc.pointer(0, n), Property: name,
		Reason: fmt.Sprintf("property %q occurs more than once", clip(name)),
	}}})
	return false
}
