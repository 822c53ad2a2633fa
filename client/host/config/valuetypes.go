package config

// A valueType is a type of the values of a member: for people, and as a JSON Schema that accepts
// whatever the parser accepts.
type valueType struct {
	name   string
	schema object
}

// An object is a JSON Schema or a part of one.
type object map[string]any

// scalar is the schema of a string for which the parser also accepts a number or a boolean.
var scalar = object{"type": []string{"string", "number", "boolean"}}

var (
	textType  = valueType{"text", object{"type": "string"}}
	textsType = valueType{"array of texts", object{"type": "array", "items": scalar}}
	boolType  = valueType{"true or false", object{"type": "boolean"}}

	millisecondsType = valueType{"milliseconds, at most 30 days; 0: no limit",
		integer(0, maxTime.Milliseconds())}
	secondsType = valueType{"seconds, at most 30 days; 0: no limit",
		object{"type": "number", "minimum": 0, "maximum": maxTime.Seconds()}}
	bytesType = valueType{"bytes, from 1 to 1 GiB", integer(1, maxSize)}

	durationType = valueType{`duration such as "10m" or "1h30m", at most 30 days; 0: never`,
		anyOf(object{"const": 0}, object{"type": "string",
			"pattern": `^([-+]?0|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`})}

	patternsType = valueType{"array of patterns", object{"type": "array",
		"items": anyOf(object{"type": []string{"number", "boolean"}},
			object{"type": "string", "pattern": `^[^\[\]{}\\]+$`})}}
	jsonType = valueType{"any value", object{}}
)

func anyOf(all ...object) object   { return object{"anyOf": all} }
func pattern(p string) object      { return object{"pattern": p} }
func reference(name string) object { return object{"$ref": "#/$defs/" + name} }
func allOf(all ...object) object   { return object{"allOf": all} }
func not(s object) object          { return object{"not": s} }
func integer(least, most int64) object {
	return object{"type": "integer", "minimum": least, "maximum": most}
}

// has returns the schema of an object that has one of these members.
func has(names ...string) object {
	var all []object
	for _, name := range names {
		all = append(all, object{"required": []string{name}})
	}
	if len(all) == 1 {
		return all[0]
	}
	return anyOf(all...)
}

// given returns the schema of an object in which one of these members is a string other than "".
func given(names ...string) object {
	var all []object
	for _, name := range names {
		all = append(all, object{"required": []string{name},
			"properties": object{name: not(object{"const": ""})}})
	}
	return anyOf(all...)
}

// withMember returns the schema of an object in which a member, if present, matches s.
func withMember(name string, s object) object { return object{"properties": object{name: s}} }

// closed returns s with other members forbidden.
func closed(s object) object {
	s["additionalProperties"] = false
	return s
}

// described returns s with a description.
func described(s object, help string) object {
	c := object{"description": help}
	for key, value := range s {
		c[key] = value
	}
	return c
}

// idPattern matches the ids of servers and the names of profiles, except those with "__".
const idPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`
