package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Arguments convert the arguments of calls of a tool. They are immutable; nil converts nothing.
type Arguments struct {
	public map[string]string // the public names of renamed arguments, by own name
	own    map[string]string // the reverse
	// The values of hidden arguments, and the defaults of the others, by own name.
	fixed, defaults map[string]json.RawMessage
	schema          *schema.Schema // of the arguments as callers send them
}

// Own returns the arguments that the server gets for those of a caller. It is an error if the
// caller sends an argument that is hidden, or by the server's name for it, and if the arguments are
// invalid: the server's own error would name them otherwise.
func (a *Arguments) Own(arguments json.RawMessage) (json.RawMessage, error) {
	if a == nil {
		return arguments, nil
	}
	own, err := a.convert(arguments)
	if err != nil {
		return nil, err
	}
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if err := a.schema.Validate(arguments); err != nil {
		return nil, fmt.Errorf("invalid arguments: %w", err)
	}
	return own, nil
}

// convert is Own without the validation.
func (a *Arguments) convert(arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if arguments[jsonscan.Space(arguments, 0)] != '{' {
		return nil, errors.New("its arguments are not an object")
	}
	given := map[string]bool{}
	own := append(make([]byte, 0, len(arguments)+64), '{')
	for token, value := range jsonscan.Members(arguments) {
		name, _ := jsonscan.Text(token)
		if renamed, ok := a.own[name]; ok {
			name, token = renamed, jsonscan.AppendString(nil, renamed)
		} else if _, hidden := a.fixed[name]; hidden {
			return nil, fmt.Errorf("it has no argument %.100q: leave it out", name)
		} else if public, ok := a.public[name]; ok {
			return nil, fmt.Errorf("it has no argument %.100q: it is called %.100q here", name, public)
		}
		given[name] = true
		own = jsonscan.AppendMember(own, token, value)
	}
	for _, added := range []map[string]json.RawMessage{a.fixed, a.defaults} {
		for _, name := range slices.Sorted(maps.Keys(added)) {
			if !given[name] {
				own = jsonscan.AppendMember(own, jsonscan.AppendString(nil, name), added[name])
			}
		}
	}
	return append(own, '}'), nil
}

// publicName returns the public name of an argument.
func (a *Arguments) publicName(own string) string {
	if public, ok := a.public[own]; ok {
		return public
	}
	return own
}
