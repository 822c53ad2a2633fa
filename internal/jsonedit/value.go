package jsonedit

import "github.com/stdwire/stdwire/internal/jsonscan"

// A Value is one value of a text: the range from Start to End of its Data.
type Value struct {
	*Text
	Start, End int
}

// JSON returns the value, with white space.
func (v Value) JSON() []byte { return v.Data[v.Start:v.End] }

func (v Value) IsObject() bool { return v.Text != nil && v.Data[v.Start] == '{' }
func (v Value) IsArray() bool  { return v.Text != nil && v.Data[v.Start] == '[' }

// AsString returns the value of a string.
func (v Value) AsString() (string, bool) { return jsonscan.Text(v.JSON()) }

// AsBool returns the value of true or false.
func (v Value) AsBool() (is, ok bool) {
	switch string(v.JSON()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// AsInt returns a number without a fraction.
func (v Value) AsInt() (int64, bool) { return jsonscan.Int(v.JSON(), 64) }

// TypeName returns the type of a value, for messages.
func (v Value) TypeName() string {
	switch v.Data[v.Start] {
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

// A Member is a member of an object.
type Member struct {
	Name   string
	Offset int // of the name
	Value
}

// Members returns the members of an object in order, duplicates included; nil for other values.
func (v Value) Members() (all []Member) {
	if !v.IsObject() {
		return nil
	}
	for i := jsonscan.Space(v.Data, v.Start+1); v.Data[i] == '"'; {
		token, start, _ := jsonscan.Key(v.Data, i) // the text has been validated
		end, _ := jsonscan.Value(v.Data, start)
		name, _ := jsonscan.Text(token)
		all = append(all, Member{name, i, Value{v.Text, start, end}})
		if i = jsonscan.Space(v.Data, end); v.Data[i] == ',' {
			i = jsonscan.Space(v.Data, i+1)
		}
	}
	return all
}

// Member returns the first member of that name.
func (v Value) Member(name string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Elements returns the elements of an array; nil for other values.
func (v Value) Elements() (all []Value) {
	if !v.IsArray() {
		return nil
	}
	for i := jsonscan.Space(v.Data, v.Start+1); v.Data[i] != ']'; {
		end, _ := jsonscan.Value(v.Data, i)
		all = append(all, Value{v.Text, i, end})
		if i = jsonscan.Space(v.Data, end); v.Data[i] == ',' {
			i = jsonscan.Space(v.Data, i+1)
		}
	}
	return all
}

// Only returns the member of that name. If there are several, the error is an [*Error].
func (v Value) Only(name string) (found Value, ok bool, err error) {
	for _, m := range v.Members() {
		if m.Name == name && ok {
			return found, ok, v.Errorf(m.Offset, "%.60q is there twice; remove one of them", name)
		}
		if m.Name == name {
			found, ok = m.Value, true
		}
	}
	return found, ok, nil
}

// FileRange returns the range of a value in the file. For TOML it ends with the statement in which
// the value starts.
func (v Value) FileRange() (start, end int) {
	if v.TOML == nil {
		return v.Start, v.End
	}
	start = v.TOML.Offset(v.Start)
	end = start
	for _, s := range v.TOML.Statements {
		if s.Start <= start && start < s.End {
			end = s.End
		}
	}
	return start, end
}
