package cli

import (
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A shape reads a JSON Schema for what there is to fill in: which properties, of what types. What else a schema demands is for the dispatcher
// to check. The zero value is a schema that says nothing.
type shape struct {
	root *form.Root // the whole schema, in which references are looked up
	at   []byte     // the part of it that this is about
	asks bool       // it is of the arguments of an operation that may have to be confirmed
}

// shapeOf is the shape of an operation's arguments.
func shapeOf(op *dispatch.Operation) shape {
	return shape{form.NewRoot(op.Input()), op.Input(), op.Destructive()}
}

// inner is the shape of what a part of the schema is about.
func (s shape) inner(at []byte) shape { return shape{root: s.root, at: at} }

// A part is a schema that applies to the same value as another.
type part struct {
	shape
	always bool // and not only if others do not
}

// parts returns the schemas that apply to a value of this shape, or may apply, itself first. Each is there once, so that schemas which refer to
// themselves come to an end.
func (s shape) parts() (all []part) {
	seen := map[*byte]bool{}
	var visit func(at []byte, always bool)
	visit = func(at []byte, always bool) {
		if len(at) == 0 || seen[&at[0]] {
			return
		}
		seen[&at[0]] = true
		p := part{s.inner(at), always}
		all = append(all, p)
		if ref, ok := jsonscan.Unquote(p.keyword("$ref")); ok {
			visit(s.pointed(string(ref)), always)
		}
		for at := range jsonscan.Elements(p.keyword("allOf")) {
			visit(at, always)
		}
		for _, keyword := range []string{"anyOf", "oneOf"} {
			for at := range jsonscan.Elements(p.keyword(keyword)) {
				visit(at, false)
			}
		}
		for _, keyword := range []string{"then", "else"} {
			visit(p.keyword(keyword), false)
		}
	}
	visit(s.at, true)
	return all
}

// pointed is what a reference leads to.
func (s shape) pointed(ref string) []byte {
	if s.root == nil {
		return nil
	}
	return s.root.Pointed(ref)
}

// keyword returns the value of a keyword of this very part.
func (s shape) keyword(name string) []byte { return jsonscan.Member(s.at, name) }

// annotation returns the value of a keyword from the first part that has it.
func (s shape) annotation(name string) []byte {
	for _, p := range s.parts() {
		if value := p.keyword(name); value != nil {
			return value
		}
	}
	return nil
}

// doc is the description.
func (s shape) doc() string {
	text, _ := jsonscan.Unquote(s.annotation("description"))
	return string(text)
}

// types are the JSON types that a value may have, in the schema's order; none if it does not say.
func (s shape) types() (types []string) {
	add := func(name string) {
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	parts := s.parts()
	for _, p := range parts {
		at := p.keyword("type")
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
		if p.keyword("properties") != nil || p.keyword("additionalProperties") != nil {
			add("object")
		}
		if p.keyword("items") != nil {
			add("array")
		}
	}
	return types
}

// is reports whether a value may have this type, as far as the schema says.
func (s shape) is(name string) bool { return slices.Contains(s.types(), name) }

// isSwitch reports whether there is nothing to give but true and false, null aside.
func (s shape) isSwitch() bool { return s.isOnly("boolean") }

// isObject reports whether a value must be an object, null aside.
func (s shape) isObject() bool { return s.isOnly("object") }

func (s shape) isOnly(name string) bool {
	types := slices.DeleteFunc(s.types(), func(t string) bool { return t == "null" })
	return len(types) == 1 && types[0] == name
}

// values are the only values that are allowed, as JSON; none if any are.
func (s shape) values() (values [][]byte) {
	for _, p := range s.parts() {
		if only := p.keyword("const"); only != nil {
			values = append(values, only)
		}
		values = slices.AppendSeq(values, jsonscan.Elements(p.keyword("enum")))
	}
	return values
}

// items is the shape of an array's elements.
func (s shape) items() shape {
	for _, p := range s.parts() {
		if at := p.keyword("items"); len(at) > 0 && at[0] == '{' {
			return s.inner(at)
		}
	}
	return shape{}
}

// properties are the names of an object's properties, in the schema's order.
func (s shape) properties() (names []string) {
	for _, f := range s.fields() {
		names = append(names, f.name)
	}
	return names
}

// A field is a property that the schema names.
type field struct {
	name     string
	shape    shape
	required bool // whatever else is there
}

// fields are an object's properties, in the schema's order.
func (s shape) fields() (all []field) {
	parts, at := s.parts(), map[string]int{}
	for _, p := range parts {
		for token, value := range jsonscan.Members(p.keyword("properties")) {
			name, _ := jsonscan.Text(token)
			if _, known := at[name]; !known {
				at[name] = len(all)
				all = append(all, field{name: name, shape: s.inner(value)})
			}
		}
	}
	for _, p := range parts {
		if !p.always {
			continue
		}
		for element := range jsonscan.Elements(p.keyword("required")) {
			name, _ := jsonscan.Unquote(element)
			if i, known := at[string(name)]; known {
				all[i].required = true
			}
		}
	}
	return all
}

// property returns the shape of a property that the schema names.
func (s shape) property(name string) (shape, bool) {
	for _, p := range s.parts() {
		if at := jsonscan.Member(p.keyword("properties"), name); at != nil {
			return s.inner(at), true
		}
	}
	return shape{}, false
}

// required reports whether a property must be there, whatever else is.
func (s shape) required(name string) bool {
	for _, p := range s.parts() {
		for element := range jsonscan.Elements(p.keyword("required")) {
			if p.always && jsonscan.KeyIs(element, name) {
				return true
			}
		}
	}
	return false
}

// additional returns the shape of properties that the schema does not name, and whether there may be any.
func (s shape) additional() (shape, bool) {
	open := true
	for _, p := range s.parts() {
		switch at := p.keyword("additionalProperties"); {
		case len(at) > 0 && at[0] == '{':
			return s.inner(at), true
		case string(at) == "false" && p.keyword("patternProperties") == nil:
			open = false
		}
	}
	return shape{}, open
}
