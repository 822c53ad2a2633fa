package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// arguments returns the arguments of the call: the object of --json, or {}, with the flags set in
// it.
func (l *line) arguments(ctx context.Context, stdin io.Reader) ([]byte, error) {
	from := &sources{ctx: ctx, stdin: stdin}
	defer func() { l.readInput = from.taken != "" }()
	object := []byte("{}")
	if l.whole != nil {
		var err error
		if object, err = from.json(wholeFlag, *l.whole); err != nil {
			return nil, err
		}
		if object[0] != '{' {
			return nil, dispatch.Errorf(dispatch.InvalidInput, "%s: want a JSON object, not %.40s",
				wholeFlag, object)
		}
	}
	var done [][]string // paths
	for i, g := range l.given {
		if slices.ContainsFunc(done,
			func(path []string) bool { return slices.Equal(path, g.path) }) {
			continue // its values are part of the first
		}
		if slices.ContainsFunc(done, func(path []string) bool {
			return len(path) > len(g.path) && slices.Equal(path[:len(g.path)], g.path)
		}) {
			return nil, dispatch.Errorf(dispatch.InvalidInput,
				"%s: parts of it are given already; give all of it first", g.name())
		}
		done = append(done, g.path)
		var values []form.Value
		for _, other := range l.given[i:] {
			if slices.Equal(other.path, g.path) {
				v, err := other.value(from)
				if err != nil {
					return nil, err
				}
				values = append(values, v)
			}
		}
		encoded, ok := g.shape.Join(values)
		if !ok {
			return nil, dispatch.Errorf(dispatch.InvalidInput, "%s is given twice, and is not an array",
				g.name())
		}
		if object, ok = replaced(object, g.path, encoded); !ok {
			return nil, dispatch.Errorf(dispatch.InvalidInput,
				"%s leads into a value that is not an object", g.name())
		}
	}
	return object, nil
}

// value returns the value of a flag and reads the file or standard input that it names.
func (g given) value(from *sources) (v form.Value, err error) {
	if g.isRaw {
		v.JSON, err = from.json(g.name(), g.text)
		return v, err
	}
	wanted := g.shape
	if !wanted.Is("string") && wanted.Is("array") {
		wanted = wanted.items()
	}
	v.Text = g.text
	// no value of another type begins with @
	if types := wanted.Types(); types == nil || slices.Contains(types, "string") ||
		strings.HasPrefix(g.text, "@") {
		encoding, _ := jsonscan.Unquote(wanted.Annotation("contentEncoding"))
		v.Text, err = from.text(g.name(), g.text, string(encoding) == "base64")
	}
	return v, err
}

// replaced returns a copy of an object with the value at a path set. ok is false if a value on the
// path is not an object. A duplicate name in the object stays, for the dispatcher to refuse.
func replaced(object []byte, path []string, value []byte) (result []byte, ok bool) {
	if object[0] != '{' {
		return nil, false
	}
	member := func(old []byte) []byte {
		if len(path) == 1 {
			return value
		}
		var inner []byte
		inner, ok = replaced(old, path[1:], value)
		return inner
	}
	ok = true
	found := false
	dst := []byte{'{'}
	for token, old := range jsonscan.Members(object) {
		if !found && jsonscan.KeyIs(token, path[0]) {
			found, old = true, member(old)
		}
		dst = jsonscan.AppendMember(dst, token, old)
	}
	if !found {
		dst = jsonscan.AppendMember(dst, form.Quote(path[0]), member([]byte("{}")))
	}
	return append(dst, '}'), ok
}
