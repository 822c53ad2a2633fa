package cli

import (
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A shape is the schema of a value, from which flags are made.
type shape struct {
	form.Schema
	canConfirm bool // the arguments are those of an operation that may need confirmation
}

// shapeOf returns the shape of an operation's arguments.
func shapeOf(op *dispatch.Operation) shape {
	return shape{form.NewSchema(op.ExactInput()), op.Destructive()}
}

// doc returns the description.
func (s shape) doc() string {
	text, _ := jsonscan.Unquote(s.Annotation("description"))
	return string(text)
}

// isSwitch reports whether a value can only be true, false or null.
func (s shape) isSwitch() bool { return s.IsOnly("boolean") }

// items returns the shape of an array's elements.
func (s shape) items() shape { return shape{Schema: s.Items()} }

// property returns the shape of a property, and whether the schema names it.
func (s shape) property(name string) (shape, bool) {
	property, ok := s.Property(name)
	return shape{Schema: property}, ok
}

// additional returns the shape of properties that the schema does not name, and whether an object
// may have any.
func (s shape) additional() (shape, bool) {
	additional, open := s.Additional()
	return shape{Schema: additional}, open
}
