package form

import (
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Schema is a JSON Schema read as a form: the properties of a value and their types.
// It does not validate. The text must be valid JSON. The zero value is a schema without keywords.
//
// The methods consider the schema itself and all that apply to the same value: the target of $ref,
// and those in allOf, anyOf, oneOf, then and else. References to other documents are ignored. One
// call reads at most 4 MiB or four times the document, whichever is more, and ignores what is
// beyond. [Schema.Limited] limits all calls together.
type Schema struct {
	root          *Root  // the document, in which references are resolved
	At            []byte // the text of the schema
	unconditional bool   // Parts leaves out anyOf, oneOf, then and else
	budget        *int   // bytes that Parts may still read; nil: one call has a limit of its own
}

const (
	minBudget = 4 << 20 // bytes of subschemas that Parts reads
	partCost  = 16      // what a part costs in addition to its bytes
)

// NewSchema returns the schema of a whole document, which must not change.
func NewSchema(document []byte) Schema { return Schema{root: NewRoot(document), At: document} }

// Sub returns the schema with the given text, which is a part of the same document.
func (s Schema) Sub(at []byte) Schema { return Schema{root: s.root, At: at, budget: s.budget} }

// Limited returns s with one limit for all calls of its methods and of those of schemas that they
// return: 4 MiB or 16 times the document, whichever is more. It is for walking a whole schema,
// which can be recursive.
func (s Schema) Limited() Schema {
	budget := s.limit(16)
	s.budget = &budget
	return s
}

// limit returns maxWork, or a multiple of the document's size if that is more.
func (s Schema) limit(times int) int {
	if s.root == nil {
		return minBudget
	}
	return max(minBudget, times*len(s.root.value))
}

// A Part is a schema that applies to the same value as another one.
type Part struct {
	Schema
	Always bool // false within anyOf, oneOf, then and else
}

// Parts returns the schemas that apply, or may apply, to a value of s, beginning with s itself.
// Each occurs once, so that recursive schemas have an end.
func (s Schema) Parts() (all []Part) {
	seen := map[*byte]bool{}
	budget := s.budget
	if budget == nil {
		limit := s.limit(4)
		budget = &limit
	}
	var visit func(at []byte, always bool)
	visit = func(at []byte, always bool) {
		if len(at) == 0 || seen[&at[0]] || *budget <= 0 {
			return
		}
		seen[&at[0]] = true
		*budget -= len(at) + partCost
		p := Part{s.Sub(at), always}
		all = append(all, p)
		if ref, ok := jsonscan.Unquote(p.Keyword("$ref")); ok && s.root != nil {
			visit(s.root.resolve(string(ref)), always)
		}
		for at := range jsonscan.Elements(p.Keyword("allOf")) {
			visit(at, always)
		}
		if s.unconditional {
			return
		}
		for _, keyword := range []string{"anyOf", "oneOf"} {
			for at := range jsonscan.Elements(p.Keyword(keyword)) {
				visit(at, false)
			}
		}
		for _, keyword := range []string{"then", "else"} {
			visit(p.Keyword(keyword), false)
		}
	}
	visit(s.At, true)
	return all
}

// Keyword returns the value of a keyword of s itself, nil if it is absent.
func (s Schema) Keyword(name string) []byte { return jsonscan.Member(s.At, name) }

// Annotation returns the value of a keyword from the first part that has it.
func (s Schema) Annotation(name string) []byte {
	for _, p := range s.Parts() {
		if value := p.Keyword(name); value != nil {
			return value
		}
	}
	return nil
}

// Types returns the JSON types that a value may have, in the schema's order, or nil if the schema
// does not restrict them.
func (s Schema) Types() (types []string) {
	add := func(name string) {
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	parts := s.Parts()
	for _, p := range parts {
		at := p.Keyword("type")
		if name, ok := jsonscan.Unquote(at); ok {
			add(string(name))
		}
		for element := range jsonscan.Elements(at) {
			if name, ok := jsonscan.Unquote(element); ok {
				add(string(name))
			}
		}
	}
	if types != nil {
		return types
	}
	for _, p := range parts {
		if p.Keyword("properties") != nil || p.Keyword("additionalProperties") != nil {
			add("object")
		}
		if p.Keyword("items") != nil {
			add("array")
		}
	}
	return types
}

// Is reports whether name is one of the schema's types.
func (s Schema) Is(name string) bool { return slices.Contains(s.Types(), name) }

// IsOnly reports whether name is the schema's only type, apart from null.
func (s Schema) IsOnly(name string) bool {
	types := slices.DeleteFunc(s.Types(), func(t string) bool { return t == "null" })
	return len(types) == 1 && types[0] == name
}

// Values returns the values of const and enum as JSON, or nil if the schema has neither.
func (s Schema) Values() (values [][]byte) {
	for _, p := range s.Parts() {
		if only := p.Keyword("const"); only != nil {
			values = append(values, only)
		}
		values = slices.AppendSeq(values, jsonscan.Elements(p.Keyword("enum")))
	}
	return values
}

// Items returns the schema of an array's elements.
func (s Schema) Items() Schema {
	for _, p := range s.Parts() {
		if at := p.Keyword("items"); len(at) > 0 && at[0] == '{' {
			return s.Sub(at)
		}
	}
	return Schema{}
}

// A Field is a property that the schema declares in properties.
type Field struct {
	Name     string
	Schema   Schema
	Required bool // in every case, not only in an alternative
}

// Fields returns an object's properties in the schema's order.
func (s Schema) Fields() (all []Field) {
	parts, at := s.Parts(), map[string]int{}
	for _, p := range parts {
		for name, value := range jsonscan.Named(p.Keyword("properties")) {
			if _, known := at[name]; !known {
				at[name] = len(all)
				all = append(all, Field{Name: name, Schema: s.Sub(value)})
			}
		}
	}
	for _, p := range parts {
		if !p.Always {
			continue
		}
		for element := range jsonscan.Elements(p.Keyword("required")) {
			name, _ := jsonscan.Unquote(element)
			if i, known := at[string(name)]; known {
				all[i].Required = true
			}
		}
	}
	return all
}

// Property returns the schema of a property, and whether the schema declares it.
func (s Schema) Property(name string) (Schema, bool) {
	for _, p := range s.Parts() {
		if at := jsonscan.Member(p.Keyword("properties"), name); at != nil {
			return s.Sub(at), true
		}
	}
	return Schema{}, false
}

// Required reports whether an object must have a property, whichever alternatives apply.
func (s Schema) Required(name string) bool {
	for _, p := range s.Parts() {
		for element := range jsonscan.Elements(p.Keyword("required")) {
			if p.Always && jsonscan.KeyIs(element, name) {
				return true
			}
		}
	}
	return false
}

// Additional returns the schema in additionalProperties, and whether an object may have properties
// that the schema does not declare.
func (s Schema) Additional() (Schema, bool) {
	open := true
	for _, p := range s.Parts() {
		switch at := p.Keyword("additionalProperties"); {
		case len(at) > 0 && at[0] == '{':
			return s.Sub(at), true
		case string(at) == "false" && p.Keyword("patternProperties") == nil:
			open = false
		}
	}
	return Schema{}, open
}
