package config

import "github.com/stdwire/stdwire/internal/jsonscan"

// A value is one value of a text.
type value struct {
	*text
	start, end int
}

func (v value) raw() []byte { return v.data[v.start:v.end] }

func (v value) isObject() bool { return v.text != nil && v.data[v.start] == '{' }
func (v value) isArray() bool  { return v.text != nil && v.data[v.start] == '[' }

// string returns the value of a string.
func (v value) string() (string, bool) { return jsonscan.Text(v.raw()) }

func (v value) bool() (is, ok bool) {
	switch string(v.raw()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// integer returns a number without a fraction.
func (v value) integer() (int64, bool) { return jsonscan.Int(v.raw(), 64) }

// kind returns the type of a value, for messages.
func (v value) kind() string {
	switch v.data[v.start] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// A member is a member of an object.
type member struct {
	name   string
	offset int // of the name
	value
}

// members returns the members of an object in order, duplicates included; nil for other values.
func (v value) members() (all []member) {
	if !v.isObject() {
		return nil
	}
	for i := jsonscan.Space(v.data, v.start+1); v.data[i] == '"'; {
		token, start, _ := jsonscan.Key(v.data, i) // the text has been validated
		end, _ := jsonscan.Value(v.data, start)
		name, _ := jsonscan.Text(token)
		all = append(all, member{name, i, value{v.text, start, end}})
		if i = jsonscan.Space(v.data, end); v.data[i] == ',' {
			i = jsonscan.Space(v.data, i+1)
		}
	}
	return all
}

// member returns the first member of that name.
func (v value) member(name string) (value, bool) {
	for _, m := range v.members() {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// elements returns the elements of an array; nil for other values.
func (v value) elements() (all []value) {
	if !v.isArray() {
		return nil
	}
	for i := jsonscan.Space(v.data, v.start+1); v.data[i] != ']'; {
		end, _ := jsonscan.Value(v.data, i)
		all = append(all, value{v.text, i, end})
		if i = jsonscan.Space(v.data, end); v.data[i] == ',' {
			i = jsonscan.Space(v.data, i+1)
		}
	}
	return all
}
