package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
)

// rewrite returns the inputSchema of a tool with the arguments as callers see them, and how they
// are converted. Arguments that are valid under it are valid under input after [Arguments.Own],
// unless they have the server's name of a renamed or hidden argument, which Own refuses. It returns
// an error if a keyword depends on the names of arguments in a way that it cannot follow. If only
// descriptions change, nothing is converted: the Arguments are nil.
func rewrite(input json.RawMessage, overrides map[string]host.ArgumentOverride) (json.RawMessage,
	*Arguments, error) {
	var names []string
	for name := range jsonscan.Named(objectOr(jsonscan.Member(input, "properties"))) {
		names = append(names, name)
	}
	a := &Arguments{public: map[string]string{}, own: map[string]string{},
		fixed: map[string]json.RawMessage{}, defaults: map[string]json.RawMessage{}}
	for _, own := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[own]
		err := CheckArgument(&o)
		if !slices.Contains(names, own) {
			err = errors.New("the tool has no such argument")
			if hint := near.Instead(own, names); hint != "" {
				err = fmt.Errorf("%w; %s", err, hint)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("arguments: %q: %w", own, err)
		}
		switch value := Fixed(&o); {
		case value != nil:
			a.fixed[own] = value
		case o.Default != nil:
			a.defaults[own] = o.Default
		}
		if o.Name != "" && o.Name != own {
			a.public[own] = o.Name
		}
	}
	taken := map[string]string{}
	for _, own := range names {
		if a.fixed[own] != nil {
			continue
		}
		public := a.publicName(own)
		if other, ok := taken[public]; ok {
			return nil, nil, fmt.Errorf("arguments: %q and %q would both be called %q", other, own,
				public)
		}
		taken[public] = own
	}
	for own, public := range a.public {
		a.own[public] = own
	}
	if err := a.checkValues(input); err != nil {
		return nil, nil, err
	}
	w := &writer{a, overrides}
	if !w.moves() {
		described, err := w.properties(jsonscan.Member(input, "properties"), true)
		return jsonscan.SetMember(input, "properties", described), nil, err
	}
	public, err := w.object(input, true)
	if err == nil {
		a.schema, err = schema.Compile(public)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("arguments: the inputSchema cannot be adapted: %w", err)
	}
	return public, a, nil
}

// checkValues returns an error if a value or default is not valid under the schema of its argument.
func (a *Arguments) checkValues(input json.RawMessage) error {
	const uri = "urn:stdwire:own"
	document := schema.Options{Load: func(string) ([]byte, error) { return input, nil }}
	for _, values := range []map[string]json.RawMessage{a.fixed, a.defaults} {
		for own, value := range values {
			reference := jsonscan.AppendString([]byte(`{"$ref":`), uri+"#"+fragment("properties", own))
			of, err := document.Compile(append(reference, '}'))
			if err == nil {
				err = of.Validate(value)
			}
			if err != nil {
				return fmt.Errorf("arguments: %q: the server does not accept its value: %w", own, err)
			}
		}
	}
	return nil
}

// A writer writes a schema with the arguments as callers see them.
type writer struct {
	*Arguments
	overrides map[string]host.ArgumentOverride
}

// moves reports whether callers send other arguments than the server gets.
func (w *writer) moves() bool { return w.adds() || len(w.public) > 0 }

// adds reports whether the server gets arguments that the caller does not send.
func (w *writer) adds() bool { return len(w.fixed)+len(w.defaults) > 0 }

// object returns a schema of all arguments: the inputSchema itself (root), or one that applies to
// the same object, as those of allOf do.
func (w *writer) object(text json.RawMessage, root bool) (json.RawMessage, error) {
	if len(text) == 0 || text[0] != '{' { // true or false
		return text, nil
	}
	return members(text, nil, func(keyword string, value json.RawMessage) (json.RawMessage, error) {
		return w.keyword(keyword, value, root)
	})
}

// keyword returns the value of a keyword of a schema of all arguments, or nil to leave it out.
func (w *writer) keyword(keyword string, value json.RawMessage, root bool) (json.RawMessage,
	error) {
	switch keyword {
	case "properties":
		return w.properties(value, root)
	case "required":
		return w.names(value, root)
	case "dependentRequired":
		return w.byArgument(value, func(v json.RawMessage) (json.RawMessage, error) {
			return w.names(v, false)
		})
	case "dependentSchemas", "dependencies":
		return w.byArgument(value, func(v json.RawMessage) (json.RawMessage, error) {
			if v[0] == '[' {
				return w.names(v, false)
			}
			return w.object(v, false)
		})
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		return each(value, false, func(v json.RawMessage) (json.RawMessage, error) {
			return w.object(v, false)
		})
	case "default":
		return w.example(value)
	case "examples":
		return each(value, false, w.example)
	case "additionalProperties", "unevaluatedProperties":
		if !root && w.adds() {
			return nil, fmt.Errorf("%q within another keyword forbids to add arguments", keyword)
		}
	case "minProperties", "maxProperties":
		if w.adds() {
			return nil, fmt.Errorf("%q counts the arguments", keyword)
		}
	case "$id":
		if !root {
			return nil, errors.New("a part of it has an $id")
		}
	case "patternProperties", "propertyNames", "enum", "const", "$ref", "$dynamicRef",
		"$recursiveRef", "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		return nil, fmt.Errorf("%q may depend on the names of the arguments", keyword)
	}
	return w.nested(keyword, value)
}

// properties returns the schemas of arguments by their public names.
func (w *writer) properties(value json.RawMessage, root bool) (json.RawMessage, error) {
	return w.rename(value, func(own string, v json.RawMessage) (json.RawMessage, error) {
		switch {
		case !root:
			if err := w.checkNotAdded(own); err != nil {
				return nil, err
			}
		case w.fixed[own] != nil:
			return nil, nil
		}
		var err error
		if w.moves() {
			v, err = w.subschema(v)
		}
		if o := w.overrides[own]; err == nil && root && (o.Description != "" || o.Default != nil) {
			if v[0] != '{' {
				v = json.RawMessage(`{}`) // true; no value is valid for false
			}
			if o.Description != "" {
				v = jsonscan.SetMember(v, "description", jsonscan.AppendString(nil, o.Description))
			}
			if o.Default != nil {
				v = jsonscan.SetMember(v, "default", o.Default)
			}
		}
		return v, err
	})
}

// names returns an array of arguments' names with their public names. Those of the root are without
// the arguments that need not be sent.
func (w *writer) names(value json.RawMessage, root bool) (json.RawMessage, error) {
	out := []byte{'['}
	for element := range jsonscan.Elements(value) {
		own, _ := jsonscan.Text(element)
		if w.fixed[own] != nil || w.defaults[own] != nil {
			if root {
				continue
			}
			return nil, w.checkNotAdded(own)
		}
		if public, ok := w.public[own]; ok {
			element = jsonscan.AppendString(nil, public)
		}
		out = jsonscan.AppendElement(out, element)
	}
	return append(out, ']'), nil
}

// byArgument converts the names and values of an object that has the names of arguments.
func (w *writer) byArgument(value json.RawMessage,
	convert func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	return w.rename(value, func(own string, v json.RawMessage) (json.RawMessage, error) {
		if err := w.checkNotAdded(own); err != nil {
			return nil, err
		}
		return convert(v)
	})
}

// example returns arguments as callers write them. Another value stays.
func (w *writer) example(value json.RawMessage) (json.RawMessage, error) {
	if value[0] != '{' {
		return value, nil
	}
	return w.rename(value, func(own string, v json.RawMessage) (json.RawMessage, error) {
		if w.fixed[own] != nil {
			return nil, nil
		}
		return v, nil
	})
}

// rename returns an object with public names in place of arguments' own names, and with the values
// that convert returns, without the nil ones.
func (w *writer) rename(object json.RawMessage,
	convert func(own string, v json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if object[0] != '{' {
		return object, nil
	}
	return members(object, w.public, convert)
}

// members returns an object with other names for those that names has, and with the values that
// convert returns, without the nil ones.
func members(object json.RawMessage, names map[string]string,
	convert func(name string, v json.RawMessage) (json.RawMessage, error)) (json.RawMessage,
	error) {
	out := []byte{'{'}
	for token, value := range jsonscan.Members(object) {
		name, _ := jsonscan.Text(token)
		converted, err := convert(name, value)
		if err != nil {
			return nil, err
		}
		if converted == nil {
			continue
		}
		if other, ok := names[name]; ok {
			token = jsonscan.AppendString(nil, other)
		}
		out = jsonscan.AppendMember(out, token, converted)
	}
	return append(out, '}'), nil
}

// checkNotAdded returns an error for an argument that the server gets although the caller may not
// send it: a condition on it would have another result.
func (w *writer) checkNotAdded(own string) error {
	if w.fixed[own] == nil && w.defaults[own] == nil {
		return nil
	}
	return fmt.Errorf("a condition depends on %q, which has a value or default here", own)
}
