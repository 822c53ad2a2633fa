package arguments

import (
	"iter"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Shape is a JSON Schema read as a form whose alternatives are kept apart, for display and
// completion. Text is coerced by [form.Schema], which combines the alternatives. The text must be
// valid JSON. The zero value is a schema without keywords.
type Shape struct {
	root *form.Root // the document, in which references are resolved
	size int        // bytes of the document
	At   []byte     // the text of the schema
	deep int        // steps from the document's root, because schemas can be recursive
	left *int       // bytes that may still be read, because each step can lead to many others
}

const (
	maxDeep = 24
	maxWork = 4 << 20
)

// ShapeOf returns the shape of a whole document.
func ShapeOf(schema []byte) Shape {
	left := max(maxWork, 4*len(schema))
	return Shape{root: form.NewRoot(schema), size: len(schema), At: schema, left: &left}.resolved()
}

// Part returns a part of the schema, the references that it consists of followed.
func (s Shape) Part(at []byte) Shape { return s.step(at, len(at)).resolved() }

// step goes from s to another part; to the zero value if that leads too far.
func (s Shape) step(at []byte, cost int) Shape {
	const least = 1 << 10
	if s.left == nil || s.deep == maxDeep || *s.left <= 0 {
		return Shape{}
	}
	*s.left -= cost + least
	return Shape{s.root, s.size, at, s.deep + 1, s.left}
}

func (s Shape) resolved() Shape {
	for {
		ref, ok := jsonscan.Unquote(s.Keyword("$ref"))
		if !ok {
			return s
		}
		s = s.step(s.root.Pointed(string(ref)), s.size)
	}
}

func (s Shape) Keyword(name string) []byte { return jsonscan.Member(s.At, name) }

// Alternatives yields the schemas of which one has to fit: those of anyOf and oneOf, however
// nested, or s itself.
func (s Shape) Alternatives() iter.Seq[Shape] {
	return func(yield func(Shape) bool) { s.eachAlternative(yield) }
}

func (s Shape) eachAlternative(yield func(Shape) bool) bool {
	several := false
	for _, name := range []string{"anyOf", "oneOf"} {
		for at := range jsonscan.Elements(s.Keyword(name)) {
			several = true
			if !s.Part(at).eachAlternative(yield) {
				return false
			}
		}
	}
	// Both at once is common where anyOf only says which properties go together.
	if !several || s.Keyword("type") != nil || s.Keyword("properties") != nil {
		return yield(s)
	}
	return true
}

// Types are the JSON types that are allowed, in the schema's order; none if it does not say.
func (s Shape) Types() (types []string) {
	at := s.Keyword("type")
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
	if s.Keyword("properties") != nil {
		return []string{"object"}
	}
	if s.Keyword("items") != nil {
		return []string{"array"}
	}
	for part := range s.conjuncts() {
		if types = part.Types(); types != nil {
			return types
		}
	}
	return nil
}

// conjuncts yields the schemas of allOf.
func (s Shape) conjuncts() iter.Seq[Shape] {
	return func(yield func(Shape) bool) {
		for at := range jsonscan.Elements(s.Keyword("allOf")) {
			if !yield(s.Part(at)) {
				return
			}
		}
	}
}

// Values yields the only values that are allowed, as JSON; none if that is not restricted.
func (s Shape) Values() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if only := s.Keyword("const"); only != nil {
			yield(only)
			return
		}
		for value := range jsonscan.Elements(s.Keyword("enum")) {
			if !yield(value) {
				return
			}
		}
	}
}

// Properties yields the names and schemas of an object's properties, in the schema's order.
func (s Shape) Properties() iter.Seq2[string, Shape] {
	return func(yield func(string, Shape) bool) { s.eachProperty(yield) }
}

func (s Shape) eachProperty(yield func(string, Shape) bool) bool {
	for token, at := range jsonscan.Members(s.Keyword("properties")) {
		name, _ := jsonscan.Unquote(token)
		if !yield(string(name), s.Part(at)) {
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

// property returns the schema of a property, from the first part that names it.
func (s Shape) property(name string) (Shape, bool) {
	property, ok := s.form().Property(name)
	return s.Part(property.At), ok
}

// additional returns the schema of the properties that are not named, the zero value if there is
// none.
func (s Shape) additional() Shape {
	additional, _ := s.form().Additional()
	return s.Part(additional.At)
}

// Required are the names of the properties that have to be there.
func (s Shape) Required() map[string]bool {
	names := map[string]bool{}
	s.addRequired(names)
	return names
}

func (s Shape) addRequired(names map[string]bool) {
	for value := range jsonscan.Elements(s.Keyword("required")) {
		if name, ok := jsonscan.Unquote(value); ok {
			names[string(name)] = true
		}
	}
	for part := range s.conjuncts() {
		part.addRequired(names)
	}
}

// Items returns the schema of an array's elements, and whether an array is allowed.
func (s Shape) Items() (Shape, bool) {
	f := s.form()
	return s.Part(f.Items().At), f.Is("array")
}
