package arguments

import "github.com/stdwire/stdwire/internal/form"

// A Value is text whose type the schema decides, or JSON.
type Value = form.Value

// form returns the schema with all alternatives combined, by which text is coerced.
func (s Shape) form() form.Schema {
	if s.root == nil {
		return form.Schema{}
	}
	return s.root.Schema(s.At)
}

// Coerce returns the JSON of text that was typed as the value of a property, as
// [form.Schema.Coerce] does.
func (s Shape) Coerce(text string) []byte { return s.form().Coerce(text) }

// encode returns the JSON of a value.
func encode(v Value, s Shape) []byte {
	if v.JSON != nil {
		return v.JSON
	}
	return s.Coerce(v.Text)
}
