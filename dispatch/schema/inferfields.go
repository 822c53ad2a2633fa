package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A field is a struct field that encoding/json decodes and encodes.
type field struct {
	name     string // of the property
	tagged   bool   // the name comes from the tag
	index    []int
	t        reflect.Type
	tags     tags
	goName   string
	optional bool // omitempty, omitzero, or promoted through an embedded pointer
	quoted   bool // it has the option string
}

// structSchema infers the schema of a struct.
func (i *inference) structSchema(t reflect.Type) (*inferredSchema, error) {
	s := &inferredSchema{types: typeObject, closed: !i.open}
	fields, where := fieldsOf(t), len(i.where)
	s.properties, s.required = make([]property, 0, len(fields)), make([]string, 0, len(fields))
	for _, f := range fields {
		i.where = append(i.where[:where], ".", f.goName)
		var p *inferredSchema
		if f.quoted {
			p = quotedSchema(f.t)
		} else {
			var err error
			if p, err = i.typeSchema(f.t); err != nil {
				return nil, err
			}
		}
		if err := p.applyTags(f); err != nil {
			return nil, fmt.Errorf("schema: %s: %w", i.path(), err)
		}
		pointer := f.t.Kind() == reflect.Pointer
		if i.exact && (pointer && !i.output || isNilable(f.t) && i.output && !f.optional) {
			p.allowNull(true)
		}
		s.properties = append(s.properties, property{f.name, p})
		whole := i.exact && i.output // a nil pointer is null and not omitted
		if !f.optional && (whole || !pointer && (i.output || p.defaultValue == nil)) {
			s.required = append(s.required, f.name)
		}
	}
	i.where = i.where[:where]
	return s, nil
}

// quotedSchema returns the schema of a field with the option string.
func quotedSchema(t reflect.Type) *inferredSchema {
	s := &inferredSchema{types: typeString}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.Bool:
		s.pattern = "^(true|false)$"
	case k >= reflect.Int && k <= reflect.Int64:
		s.pattern = integerPattern
	case k >= reflect.Uint && k <= reflect.Uintptr:
		s.pattern = naturalPattern
	}
	return s
}

// fieldsOf returns the fields that encoding/json decodes and encodes, promoted ones included. Of
// several fields with one name it returns the least nested one, then the one whose name comes from
// a tag, and otherwise none.
func fieldsOf(t reflect.Type) []field {
	type embedded struct {
		t        reflect.Type
		index    []int
		optional bool
		again    bool // it is embedded more than once at this level
	}
	all := make([]field, 0, t.NumField())
	var seen []reflect.Type
	for level := []embedded{{t: t}}; len(level) > 0; {
		var below []embedded
		for _, e := range level {
			if slices.Contains(seen, e.t) {
				continue
			}
			seen = append(seen, e.t)
			for n := range e.t.NumField() {
				sf := e.t.Field(n)
				inner := sf.Type
				if inner.Kind() == reflect.Pointer && inner.Name() == "" {
					inner = inner.Elem()
				}
				tags := tagsOf(sf.Tag)
				tag, _ := tags.lookup("json")
				if tag == "-" || !sf.IsExported() &&
					(!sf.Anonymous || inner.Kind() != reflect.Struct) {
					continue
				}
				name, options, _ := strings.Cut(tag, ",")
				if !jsonexact.IsName(name) {
					name = ""
				}
				index := append(slices.Clone(e.index), n)
				optional := e.optional || hasOption(options, "omitempty") ||
					hasOption(options, "omitzero")
				if sf.Anonymous && name == "" && inner.Kind() == reflect.Struct {
					if k := slices.IndexFunc(below,
						func(e embedded) bool { return e.t == inner }); k >= 0 {
						below[k].again = true
						continue
					}
					below = append(below,
						embedded{t: inner, index: index, optional: optional ||
							sf.Type.Kind() == reflect.Pointer})
					continue
				}
				f := field{
					name: cmp.Or(name, sf.Name), tagged: name != "", index: index, t: sf.Type,
					tags: tags, goName: sf.Name,
					optional: optional, quoted: hasOption(options, "string") && canBeQuoted(inner),
				}
				all = append(all, f)
				if e.again {
					// the fields of both copies have the same names
					all = append(all, f)
				}
			}
		}
		level = below
	}
	return dominant(all)
}

// dominant returns the field that encoding/json uses for each name, in the order of the struct.
func dominant(all []field) []field {
	slices.SortStableFunc(all, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)),
			compareBool(b.tagged, a.tagged))
	})
	fields := all[:0]
	for i := 0; i < len(all); {
		same := i + 1
		for same < len(all) && all[same].name == all[i].name {
			same++
		}
		rivals := all[i:same]
		if len(rivals) == 1 || len(rivals[0].index) != len(rivals[1].index) ||
			rivals[0].tagged != rivals[1].tagged {
			fields = append(fields, rivals[0])
		}
		i = same
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
}

// canBeQuoted reports whether the option string has an effect on a type.
func canBeQuoted(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}
