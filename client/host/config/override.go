package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/internal/override"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/toolhint"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// offeredPattern matches the names that an override may give to tools, prompts and arguments:
// those that the programming interfaces of all models accept.
const offeredPattern = `^[A-Za-z0-9_.-]{1,64}$`

var offeredName = regexp.MustCompile(offeredPattern)

var (
	overridesType   = valueType{"object by names", reference("overrides")}
	annotationsType = valueType{"object of true or false", hintsSchema()}
	argumentsType   = valueType{"object by names",
		object{"type": "object", "additionalProperties": reference("argument")}}
	offeredType     = valueType{"text", object{"type": "string", "pattern": offeredPattern}}
	resultCharsType = valueType{"characters, from 1 to 500000", integer(1, maxResultChars)}
)

// overrideFields returns the members of an element of overrides.
func overrideFields() []field[*host.Override] {
	return []field[*host.Override]{
		{names: []string{"name"}, valueType: textType, secret: notSecret,
			help: "The name, in place of the server's: of a tool or prompt 1 to 64 letters, digits, '_', '-' and '.', before which the prefix comes; of a resource what is displayed.",
			at:   func(o *host.Override) any { return &o.Name }},
		{names: []string{"title"}, valueType: textType, secret: notSecret,
			help: "The name for people.", at: func(o *host.Override) any { return &o.Title }},
		{names: []string{"description"}, valueType: textType, secret: notSecret,
			help: "The description.", at: func(o *host.Override) any { return &o.Description }},
		{names: []string{"annotations"}, valueType: annotationsType, secret: notSecret,
			help: "Hints of a tool, true or false: readOnlyHint, destructiveHint, idempotentHint, openWorldHint. Values that make a tool look safer are refused in a project's file.",
			read: (*reader).readAnnotations, json: func(o *host.Override) any {
				return valueIf(o.Annotations, len(o.Annotations) > 0)
			}},
		{names: []string{"arguments"}, valueType: argumentsType, secret: secretArguments,
			help: "Arguments of a tool by the server's names.",
			read: (*reader).readArguments, json: encodeArguments},
		{names: []string{"hidden"}, valueType: boolType, secret: notSecret,
			help: "The item is not offered.", at: func(o *host.Override) any { return &o.Hidden }},
		{names: []string{"tags"}, valueType: textsType, secret: notSecret,
			help: "Words for clients, in \"" + mcp.MetaTags + "\" of _meta.",
			at:   func(o *host.Override) any { return &o.Tags }},
		{names: []string{"maxResultSizeChars"}, valueType: resultCharsType, secret: notSecret,
			help: "How many characters of a result of the tool Claude Code shows its model before it writes them to a file: \"anthropic/maxResultSizeChars\" of _meta.",
			at:   func(o *host.Override) any { return &o.MaxResultSizeChars },
			read: func(r *reader, o *host.Override, v jsonedit.Value) {
				o.MaxResultSizeChars = r.readCount(v, 1, maxResultChars)
			}},
	}
}

// ofTools returns the members that only overrides of tools have.
func ofTools() []string { return []string{"annotations", "arguments", "maxResultSizeChars"} }

// argumentFields returns the members of an argument in an override.
func argumentFields() []field[*host.ArgumentOverride] {
	return []field[*host.ArgumentOverride]{
		{names: []string{"name"}, valueType: offeredType, secret: notSecret,
			help: "The name, in place of the server's: 1 to 64 letters, digits, '_', '-' and '.'.",
			at:   func(a *host.ArgumentOverride) any { return &a.Name },
			read: func(r *reader, a *host.ArgumentOverride, v jsonedit.Value) {
				a.Name = r.readOffered(v)
			}},
		{names: []string{"description"}, valueType: textType, secret: notSecret,
			help: "The description.",
			at:   func(a *host.ArgumentOverride) any { return &a.Description }},
		{names: []string{"default"}, valueType: jsonType,
			help: "What the server gets if the caller leaves the argument out, which it then may.",
			at:   func(a *host.ArgumentOverride) any { return &a.Default }},
		{names: []string{"value"}, valueType: jsonType,
			help: "What the server always gets; callers neither see nor send the argument. Variables are not expanded.",
			at:   func(a *host.ArgumentOverride) any { return &a.Value }},
		{names: []string{"hidden"}, valueType: boolType, secret: notSecret,
			help: "Callers neither see nor send the argument; it needs a value or default.",
			at:   func(a *host.ArgumentOverride) any { return &a.Hidden }},
	}
}

// readOverrides reads overrides: an object by tools' names, and those of other items after a
// prefix.
func (r *reader) readOverrides(v jsonedit.Value) map[string]host.Override {
	if !v.IsObject() {
		r.typeError(v, "an object by the names of tools")
		return nil
	}
	all := map[string]host.Override{}
	taken := map[string]jsonedit.Member{}
	for _, m := range r.members(v) {
		if r.hasTooManyDiagnostics() {
			return all
		}
		o := r.readOverride(m)
		all[m.Name] = o
		kind, name := itemkey.Item(m.Name)
		if o.Hidden || kind != mcp.KindTool && kind != mcp.KindPrompt {
			continue
		}
		if o.Name != "" {
			name = o.Name
		}
		name = string(kind) + " " + name
		if other, duplicate := taken[name]; duplicate {
			r.errorf(m.Offset, "overrides: %.60q and %.60q at %s would have the same name; change one of them",
				m.Name, other.Name, r.lineColumn(other.Offset))
		}
		taken[name] = m
	}
	return all
}

// readOverride reads the override of an item.
func (r *reader) readOverride(m jsonedit.Member) (o host.Override) {
	prefix := fmt.Sprintf("overrides.%.60s", m.Name)
	kind, own := itemkey.Item(m.Name)
	if own == "" {
		r.errorf(m.Offset, "overrides: the name of the %s is missing", kind)
	}
	readClosed(r, m.Value, prefix, &o, overrideFields())
	for _, u := range m.Value.Members() {
		switch {
		case kind != mcp.KindTool && slices.Contains(ofTools(), u.Name):
			r.errorf(u.Offset, "%s: only tools have %s", prefix, u.Name)
		case u.Name == "name" && (kind == mcp.KindTool || kind == mcp.KindPrompt):
			r.field = prefix + ".name"
			r.readOffered(u.Value)
		}
	}
	return o
}

// maxResultChars is what Claude Code takes at most.
const maxResultChars = 500_000

// readOffered reads a name that models see.
func (r *reader) readOffered(v jsonedit.Value) string {
	name := r.readString(v)
	if _, isText := v.AsString(); isText && !offeredName.MatchString(name) {
		r.errorf(v.Start, "%s must be 1 to 64 letters, digits, '_', '-' and '.'", r.field)
	}
	return name
}

func (r *reader) readAnnotations(o *host.Override, v jsonedit.Value) {
	field := r.field
	if !v.IsObject() {
		r.typeError(v, "an object of hints")
		return
	}
	o.Annotations = map[string]bool{}
	for _, m := range r.members(v) {
		if !slices.Contains(toolhint.Names(), m.Name) {
			r.unknownIn(m, field, toolhint.Names())
			continue
		}
		r.field = field + "." + m.Name
		value := r.readBool(m.Value)
		if r.isProject && toolhint.IsSafe(m.Name, value) {
			r.errorf(m.Offset, "%s: %t makes the tool look safer, which only your own file may do",
				r.field, value)
		}
		o.Annotations[m.Name] = value
	}
}

func (r *reader) readArguments(o *host.Override, v jsonedit.Value) {
	field := r.field
	if !v.IsObject() {
		r.typeError(v, "an object by the names of arguments")
		return
	}
	o.Arguments = map[string]host.ArgumentOverride{}
	taken := map[string]jsonedit.Member{}
	for _, m := range r.members(v) {
		var a host.ArgumentOverride
		prefix := fmt.Sprintf("%s.%.60s", field, m.Name)
		if !readClosed(r, m.Value, prefix, &a, argumentFields()) {
			continue
		}
		if err := override.CheckArgument(&a); err != nil {
			r.errorf(m.Offset, "%s: %v", prefix, err)
		}
		o.Arguments[m.Name] = a
		if override.Fixed(&a) != nil {
			continue
		}
		name := m.Name
		if a.Name != "" {
			name = a.Name
		}
		if other, duplicate := taken[name]; duplicate {
			r.errorf(m.Offset, "%s: %.60q and %.60q at %s would have the same name; change one of them",
				field, m.Name, other.Name, r.lineColumn(other.Offset))
		}
		taken[name] = m
	}
}

// encodeByName returns an object of objects with these members, or nil if there are none.
func encodeByName[T any](byName map[string]T, fields []field[*T]) any {
	if len(byName) == 0 {
		return nil
	}
	var all []jsonedit.Item
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		one := byName[name]
		all = append(all, jsonedit.Item{Name: name,
			JSON: jsonedit.Object(encodeFields(fields, &one))})
	}
	return json.RawMessage(jsonedit.Object(all))
}

// encodeArguments returns the value of the member arguments.
func encodeArguments(o *host.Override) any {
	return encodeByName(o.Arguments, argumentFields())
}

// overridesSchema accepts what readOverrides does, except for what depends on several names.
func overridesSchema() object {
	o := closed(objectSchema(overrideFields()))
	named := withMember("name", pattern(offeredPattern))
	noTool := not(has(ofTools()...))
	return object{"type": "object",
		"properties": object{"": false, promptKey: false, resourceKey: false},
		"patternProperties": object{"^" + promptKey: allOf(o, noTool, named),
			"^" + resourceKey: allOf(o, noTool)},
		"additionalProperties": allOf(o, named)}
}

// The keys of overrides without a name.
const promptKey, resourceKey = "prompt:", "resource:"

// argumentSchema accepts what readArguments does of one argument.
func argumentSchema() object {
	s := closed(objectSchema(argumentFields()))
	isHidden := anyOf(has("value"), object{"required": []string{"hidden"},
		"properties": object{"hidden": object{"const": true}}})
	s["allOf"] = []object{not(object{"required": []string{"value", "default"}}),
		{"if": isHidden, "then": allOf(has("value", "default"),
			not(given("name", "description")))}}
	return s
}

// hintsSchema accepts what readAnnotations does.
func hintsSchema() object {
	properties := object{}
	for _, name := range toolhint.Names() {
		properties[name] = object{"type": "boolean"}
	}
	return closed(object{"type": "object", "properties": properties})
}
