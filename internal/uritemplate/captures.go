package uritemplate

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A capture is the value found for a mention of a variable.
type capture struct {
	*variable
	value    Value
	reserved bool // the operator does not encode reserved characters
	blank    bool // empty, and without a delimiter that would show it
}

// captures collects them in the order of the template.
type captures struct {
	all   []capture
	first int // index of the first one of the current expression
}

func (f *captures) add(st *step, value Value) {
	if !st.sibling {
		f.first = len(f.all)
	}
	f.all = append(f.all,
		capture{variable: &st.vars[0], value: value, reserved: st.op.reserved,
			blank: value.kind == Undefined})
}

// undelimited adds a value without a delimiter before it, so that an empty one is undefined.
func (f *captures) undelimited(st *step, text string) {
	if text == "" {
		f.add(st, Value{})
	} else {
		f.add(st, st.value(&st.vars[0], text))
	}
}

// present adds a value after its lead. If that was a comma, the first variable of the expression is
// defined.
func (f *captures) present(st *step, text string) {
	f.add(st, st.value(&st.vars[0], text))
	if first := &f.all[f.first].value; first.kind == Undefined && st.op.first == 0 {
		*first = String("")
	}
}

// absent adds the variables of steps that are absent from the URI.
func (f *captures) absent(steps []step) {
	for i := range steps {
		for j := range steps[i].vars {
			f.all = append(f.all, capture{variable: &steps[i].vars[j]})
		}
	}
}

// parameters adds those of a named operator. It reports whether each belongs to a variable.
func (f *captures) parameters(st *step, text string) bool {
	base := len(f.all)
	for i := range st.vars {
		f.all = append(f.all, capture{variable: &st.vars[i], reserved: st.op.reserved})
	}
	found := f.all[base:]
	pairs := make([][]string, len(found))
	for parameter := range strings.SplitSeq(text, string(rune(st.op.sep))) {
		name, text, _ := strings.Cut(parameter, "=")
		i := slices.IndexFunc(found, func(f capture) bool {
			return f.normal == name && (f.explode || f.value.kind == Undefined)
		})
		if i < 0 {
			if i = slices.IndexFunc(found, func(f capture) bool { return f.explode }); i < 0 {
				return false
			}
		}
		if v := found[i].variable; v.explode {
			pairs[i] = append(pairs[i], name, decode(text))
		} else {
			found[i].value = st.value(v, text)
		}
	}
	for i := range found {
		switch v := found[i]; {
		case v.explode:
			found[i].value = exploded(v.normal, pairs[i])
		case v.max > 0 && utf8.RuneCountInString(v.value.String()) > v.max:
			return false
		}
	}
	return true
}

// exploded returns a list if all parameters have the name of their variable, and pairs otherwise.
// It takes ownership of pairs.
func exploded(name string, pairs []string) Value {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == name {
			members = append(members, pairs[i+1])
		}
	}
	if len(members)*2 == len(pairs) {
		return composite(Sequence, members)
	}
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = decode(pairs[i])
	}
	return composite(Mapping, pairs)
}

// value returns the value for a variable from its text in the URI.
func (st *step) value(v *variable, text string) Value {
	switch {
	case v.explode && !st.op.named:
		return members(text, st.op.sep)
	case v.max == 0 && !st.op.reserved && strings.Contains(text, ","):
		return Value{Sequence, decodeAll(strings.Split(text, ","))}
	}
	return String(decode(text))
}

// members returns the value of an exploded variable without names: pairs if all members have an
// equals sign, otherwise a list. After the operator . the text of a pair may contain dots.
func members(text string, sep byte) Value {
	list := strings.Split(text, string(rune(sep)))
	var pairs []string
	end, start := -1, 0 // of the last value in text
	for _, member := range list {
		key, value, isPair := strings.Cut(member, "=")
		end += 1 + len(member)
		switch {
		case isPair:
			start = end - len(value)
			pairs = append(pairs, key, value)
		case sep == '.' && pairs != nil:
			pairs[len(pairs)-1] = text[start:end]
		default:
			return Value{Sequence, decodeAll(list)}
		}
	}
	return Value{Mapping, decodeAll(pairs)}
}

func decodeAll(texts []string) []string {
	for i, text := range texts {
		texts[i] = decode(text)
	}
	return texts
}

// values returns the value of each variable. It returns false if those of a repeated variable
// contradict each other.
func (f *captures) values(t *Template) (Values, bool) {
	values := make(Values, len(t.names))
	for _, v := range f.all {
		if old, seen := values[v.name]; v.value.kind > old.kind || seen &&
			v.value.kind == old.kind && len(v.value.parts[0]) > len(old.parts[0]) {
			values[v.name] = v.value
		}
	}
	if t.mentions == len(t.names) {
		return values, true
	}
	for _, v := range f.all {
		whole := values[v.name].parts
		if v.max > 0 && len(whole) == 1 {
			whole = []string{prefix(whole[0], v.max, v.reserved)}
		}
		if !slices.Equal(whole, v.value.parts) && !(v.blank && len(whole) == 1 && whole[0] == "") {
			return nil, false
		}
	}
	return values, true
}
