package main

import (
	"iter"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A shape reads a JSON Schema as somebody does who fills in a form: what properties there are, and of what types. It knows nothing of what else a
// schema can demand; that is for package schema to check. The text is valid JSON, and may be any. The zero value is a schema that says nothing.
type shape struct {
	root []byte // the whole schema, in which references are looked up
	at   []byte // the part that this is about
	deep int    // how many steps from the root: a schema that refers to itself has no end
	left *int   // how many bytes may still be looked at: one that refers to itself twice has very many ends
}

const (
	maxDeep = 24
	maxWork = 4 << 20
)

func shapeOf(schema []byte) shape {
	left := max(maxWork, 4*len(schema))
	return shape{root: schema, at: schema, left: &left}.resolved()
}

// part returns a part of the schema, the references that it consists of followed.
func (s shape) part(at []byte) shape { return s.step(at, len(at)).resolved() }

// step goes from s to another part; to the zero value if that leads too far.
func (s shape) step(at []byte, cost int) shape {
	const least = 1 << 10
	if s.left == nil || s.deep == maxDeep || *s.left <= 0 {
		return shape{}
	}
	*s.left -= cost + least
	return shape{s.root, at, s.deep + 1, s.left}
}

func (s shape) resolved() shape {
	for {
		ref, ok := jsonscan.Unquote(s.keyword("$ref"))
		if !ok {
			return s
		}
		s = s.step(form.Pointed(s.root, string(ref)), len(s.root))
	}
}

func (s shape) keyword(name string) []byte { return jsonscan.Member(s.at, name) }

// alternatives yields the schemas of which one has to fit: those of anyOf and oneOf, however nested, or s itself.
func (s shape) alternatives() iter.Seq[shape] {
	return func(yield func(shape) bool) { s.eachAlternative(yield) }
}

func (s shape) eachAlternative(yield func(shape) bool) bool {
	several := false
	for _, name := range []string{"anyOf", "oneOf"} {
		for at := range jsonscan.Elements(s.keyword(name)) {
			several = true
			if !s.part(at).eachAlternative(yield) {
				return false
			}
		}
	}
	// Both at once is common where anyOf only says which properties go together.
	if !several || s.keyword("type") != nil || s.keyword("properties") != nil {
		return yield(s)
	}
	return true
}

// types are the JSON types that are allowed, in the schema's order; none if it does not say.
func (s shape) types() (types []string) {
	at := s.keyword("type")
	if name, ok := jsonscan.Unquote(at); ok {
		return []string{string(name)}
	}
	for value := range jsonscan.Elements(at) {
		if name, ok := jsonscan.Unquote(value); ok {
			types = append(types, string(name))
		}
	}
	if types != nil {
		return types
	}
	if s.keyword("properties") != nil {
		return []string{"object"}
	}
	if s.keyword("items") != nil {
		return []string{"array"}
	}
	for part := range s.conjuncts() {
		if types = part.types(); types != nil {
			return types
		}
	}
	return nil
}

// conjuncts yields the schemas of allOf.
func (s shape) conjuncts() iter.Seq[shape] {
	return func(yield func(shape) bool) {
		for at := range jsonscan.Elements(s.keyword("allOf")) {
			if !yield(s.part(at)) {
				return
			}
		}
	}
}

// values yields the only values that are allowed, as JSON; none if that is not restricted.
func (s shape) values() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if only := s.keyword("const"); only != nil {
			yield(only)
			return
		}
		for value := range jsonscan.Elements(s.keyword("enum")) {
			if !yield(value) {
				return
			}
		}
	}
}

// properties yields the names and schemas of an object's properties, in the schema's order.
func (s shape) properties() iter.Seq2[string, shape] {
	return func(yield func(string, shape) bool) { s.eachProperty(yield) }
}

func (s shape) eachProperty(yield func(string, shape) bool) bool {
	for token, at := range jsonscan.Members(s.keyword("properties")) {
		name, _ := jsonscan.Unquote(token)
		if !yield(string(name), s.part(at)) {
			return false
		}
	}
	for part := range s.conjuncts() {
		if !part.eachProperty(yield) {
			return false
		}
	}
	return true
}

// property finds one property, in whichever alternative has it.
func (s shape) property(name string) (shape, bool) {
	for alternative := range s.alternatives() {
		if property, ok := alternative.ownProperty(name); ok {
			return property, true
		}
	}
	return shape{}, false
}

func (s shape) ownProperty(name string) (shape, bool) {
	if at := jsonscan.Member(s.keyword("properties"), name); at != nil {
		return s.part(at), true
	}
	for part := range s.conjuncts() {
		if property, ok := part.ownProperty(name); ok {
			return property, true
		}
	}
	return shape{}, false
}

// additional is the schema of the properties that are not named; the zero value if there is none.
func (s shape) additional() shape {
	for alternative := range s.alternatives() {
		if at := alternative.keyword("additionalProperties"); len(at) > 0 && at[0] == '{' {
			return s.part(at)
		}
	}
	return shape{}
}

// required are the names of the properties that have to be there.
func (s shape) required() map[string]bool {
	names := map[string]bool{}
	s.addRequired(names)
	return names
}

func (s shape) addRequired(names map[string]bool) {
	for value := range jsonscan.Elements(s.keyword("required")) {
		if name, ok := jsonscan.Unquote(value); ok {
			names[string(name)] = true
		}
	}
	for part := range s.conjuncts() {
		part.addRequired(names)
	}
}

// isObject reports whether an object is allowed.
func (s shape) isObject() bool {
	for alternative := range s.alternatives() {
		for _, t := range alternative.types() {
			if t == "object" {
				return true
			}
		}
	}
	return false
}

// items is the schema of an array's elements, in whichever alternative has one.
func (s shape) items() (shape, bool) {
	for alternative := range s.alternatives() {
		if at := alternative.keyword("items"); len(at) > 0 && at[0] == '{' {
			return alternative.part(at), true
		}
		for _, t := range alternative.types() {
			if t == "array" {
				return shape{}, true
			}
		}
	}
	return shape{}, false
}
