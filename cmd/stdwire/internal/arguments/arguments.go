// Package arguments parses and completes the arguments of a tool, as in name=value, and formats the
// types of its parameters.
package arguments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/userfile"
)

// An Assignment is a word of the form name=value, name:=JSON or name=@FILE.
type Assignment struct {
	Name string
	form.Value
}

// ParseAssignment parses a word and reads the file that it names.
func ParseAssignment(word string) (Assignment, error) {
	name, text, ok := strings.Cut(word, "=")
	if !ok {
		unexpected := command.Usagef(
			"unexpected argument %q: an argument of the tool is name=value or name:=JSON", word)
		if text := strings.TrimSpace(word); strings.HasPrefix(text, "{") {
			return Assignment{}, unexpected.WithHint("the arguments as one JSON object follow -d")
		}
		return Assignment{}, unexpected
	}
	if isObject(word) {
		return Assignment{}, command.Usagef("unexpected argument %q", word).
			WithHint("the arguments as one JSON object follow -d")
	}
	name, isJSON := strings.CutSuffix(name, ":")
	if name == "" {
		return Assignment{}, command.Usagef("%q has no name before the =", word)
	}
	literal, isFile := form.FileName(text)
	switch {
	case isFile:
		data, err := readFile(literal)
		if err != nil {
			hint := fmt.Sprintf("for text that begins with @, write %s=@@…", name)
			return Assignment{}, readFailure(fmt.Sprintf("argument %q", name), err).WithHint(hint)
		}
		text = string(data)
	case !isJSON:
		text = literal
	}
	if !isJSON {
		if !utf8.ValidString(text) {
			return Assignment{},
				command.BadArgs("argument %q is not UTF-8, which JSON cannot hold", name)
		}
		return Assignment{name, form.Value{Text: text}}, nil
	}
	if err := jsonscan.Valid([]byte(text)); err != nil {
		return Assignment{},
			command.BadArgs("argument %q: %v", name,
				err).WithHint(fmt.Sprintf("for a value that is text, write %s=…", name))
	}
	return Assignment{name, form.Value{JSON: Compact([]byte(text))}}, nil
}

// isObject reports whether a word is a JSON object.
func isObject(word string) bool {
	return strings.HasPrefix(strings.TrimSpace(word), "{") && jsonscan.Valid([]byte(word)) == nil
}

// Compact removes line ends from JSON, because a frame cannot contain them.
func Compact(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if !bytes.ContainsAny(text, "\r\n") {
		return text
	}
	if line, err := jsonscan.AppendCompact(nil, text); err == nil {
		return line
	}
	return text
}

// ParseData returns the value of -d, which must be an object: JSON, or the content of @FILE, or of
// stdin for -.
func ParseData(ctx context.Context, given string, stdin io.Reader) ([]byte, error) {
	data, err := []byte(given), error(nil)
	if file, ok := strings.CutPrefix(given, "@"); ok {
		data, err = readFile(file)
	} else if given == "-" {
		data, err = readInput(ctx, stdin)
	}
	if err != nil {
		return nil, readFailure("-d", err)
	}
	if err := jsonscan.Valid(data); err != nil {
		return nil, command.BadArgs("-d: %v", err)
	}
	data = Compact(data)
	if data[0] != '{' {
		return nil, command.BadArgs("-d: want a JSON object, not %.40s", data)
	}
	return data, nil
}

func readFile(name string) ([]byte, error) {
	f, err := userfile.OpenArgument(name)
	if err != nil {
		return nil, Plain(err)
	}
	defer f.Close()
	return readAll(f)
}

// readInput is like readAll, but also returns when ctx ends. The read then goes on in the
// background until the program ends.
func readInput(ctx context.Context, stdin io.Reader) (data []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err = readAll(stdin)
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := userfile.Text(form.ReadAll(r))
	return data, Plain(err)
}

// readFailure returns the failure to read an argument.
func readFailure(what string, err error) *command.Failure {
	f := command.BadArgs("%s: %v", what, err)
	if errors.Is(err, form.ErrTooLarge) {
		f.Code = "too_large"
	}
	return f
}

// Plain removes the name of the operation from an error about a file.
func Plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// BuildArguments builds the arguments of a call: the object of -d with the assignments set in it. A
// name that is given several times becomes an array. A name with dots names a property of a
// property, if the schema has it.
func BuildArguments(data []byte, assignments []Assignment, schema []byte) ([]byte, error) {
	root := form.NewSchema(schema)
	object := new(Tree)
	if err := object.expand(data, "-d"); err != nil {
		return nil, err
	}
	given := map[string][]form.Value{}
	for _, a := range assignments {
		given[a.Name] = append(given[a.Name], a.Value)
	}
	for _, a := range assignments {
		values := given[a.Name]
		if values == nil {
			continue // set at its first occurrence
		}
		delete(given, a.Name)
		path, leaf := Path(root, a.Name)
		encoded := values[0].JSON
		switch {
		case len(values) > 1:
			encoded = leaf.List(values)
		case encoded == nil:
			encoded = leaf.Coerce(values[0].Text)
		}
		if err := object.set(path, encoded); err != nil {
			return nil, command.BadArgs("argument %q: %v", a.Name, err)
		}
	}
	return object.Append(nil), nil
}

// Path splits a name at the dots that lead into an object and returns the schema of the property.
func Path(s form.Schema, name string) ([]string, form.Schema) {
	if leaf, ok := s.Property(name); ok {
		return []string{name}, leaf
	}
	for i := range len(name) {
		if name[i] != '.' || i == 0 || i == len(name)-1 {
			continue
		}
		if outer, ok := s.Property(name[:i]); ok && outer.Is("object") {
			path, leaf := Path(outer, name[i+1:])
			return append([]string{name[:i]}, path...), leaf
		}
	}
	additional, _ := s.Additional()
	return []string{name}, additional
}

// A Tree is a JSON object that is being built. It keeps the order of the members.
type Tree struct {
	names   []string
	members map[string]*Node
}

// A Node is the JSON of a value, or an object that is being built.
type Node struct {
	JSON   []byte
	object *Tree
}

// expand adds the members of an object.
func (t *Tree) expand(object []byte, where string) error {
	for token, value := range jsonscan.Members(object) {
		name, _ := jsonscan.Unquote(token)
		if t.members[string(name)] != nil {
			return command.BadArgs("%s has %s twice", where, token)
		}
		t.Put(string(name), &Node{JSON: value})
	}
	return nil
}

// Put adds a member or replaces its value.
func (t *Tree) Put(name string, n *Node) {
	if t.members == nil {
		t.members = map[string]*Node{}
	}
	if t.members[name] == nil {
		t.names = append(t.names, name)
	}
	t.members[name] = n
}

// set sets the value at a path, on which all values must be objects.
func (t *Tree) set(path []string, value []byte) error {
	name := path[0]
	n := t.members[name]
	switch {
	case len(path) == 1 && n != nil && n.object != nil:
		return errors.New("parts of it are given already; give all of it first")
	case len(path) == 1:
		t.Put(name, &Node{JSON: value})
		return nil
	case n == nil:
		n = &Node{object: new(Tree)}
		t.Put(name, n)
	case n.object == nil && n.JSON[0] != '{':
		return fmt.Errorf("%q is given as %.40s, which is not an object", name, n.JSON)
	case n.object == nil:
		n.object = new(Tree)
		if err := n.object.expand(n.JSON, name); err != nil {
			return err
		}
	}
	return n.object.set(path[1:], value)
}

// Append appends the JSON of the object to dst.
func (t *Tree) Append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range t.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, name), ':')
		if n := t.members[name]; n.object != nil {
			dst = n.object.Append(dst)
		} else {
			dst = append(dst, n.JSON...)
		}
	}
	return append(dst, '}')
}
