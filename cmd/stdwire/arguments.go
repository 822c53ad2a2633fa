package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// maxArgument is how many bytes of a file or of stdin are read. No request may be that large.
const maxArgument = 16 << 20

// An assignment is a word of the form name=value, name:=JSON or name=@FILE.
type assignment struct {
	name string
	value
}

// A value is text whose type the schema decides, or JSON.
type value struct {
	text string
	json []byte // nil: text counts
}

func (v value) encode(s shape) []byte {
	if v.json != nil {
		return v.json
	}
	return s.coerce(v.text)
}

// parseAssignment reads a word, and the file that it names.
func parseAssignment(word string) (assignment, error) {
	name, text, ok := strings.Cut(word, "=")
	if !ok {
		return assignment{}, usagef("unexpected argument %q: an argument of the tool is name=value or name:=JSON", word)
	}
	name, isJSON := strings.CutSuffix(name, ":")
	if name == "" {
		return assignment{}, usagef("%q has no name before the =", word)
	}
	if file, ok := strings.CutPrefix(text, "@"); ok {
		data, err := readFile(file)
		if err != nil {
			return assignment{}, unread(fmt.Sprintf("argument %q", name), err).withHint(fmt.Sprintf(`for text that begins with @, write %s:='"@…"'`, name))
		}
		text = string(data)
	}
	if !isJSON {
		if !utf8.ValidString(text) {
			return assignment{}, badArgs("argument %q is not UTF-8, which JSON cannot hold", name)
		}
		return assignment{name, value{text: text}}, nil
	}
	if err := jsonscan.Valid([]byte(text)); err != nil {
		return assignment{}, badArgs("argument %q: %v", name, err).withHint(fmt.Sprintf("for a value that is text, write %s=…", name))
	}
	return assignment{name, value{json: compact([]byte(text))}}, nil
}

// compact returns JSON without line ends, which a frame cannot hold.
func compact(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if bytes.ContainsAny(text, "\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, text) == nil {
			return b.Bytes()
		}
	}
	return text
}

// parseData reads the value of -d: JSON, or @FILE, or - for stdin. It must be an object.
func parseData(ctx context.Context, given string, stdin io.Reader) ([]byte, error) {
	data, err := []byte(given), error(nil)
	if file, ok := strings.CutPrefix(given, "@"); ok {
		data, err = readFile(file)
	} else if given == "-" {
		data, err = readInput(ctx, stdin)
	}
	if err != nil {
		return nil, unread("-d", err)
	}
	if err := jsonscan.Valid(data); err != nil {
		return nil, badArgs("-d: %v", err)
	}
	data = compact(data)
	if data[0] != '{' {
		return nil, badArgs("-d: want a JSON object, not %.40s", data)
	}
	return data, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	return readAll(f)
}

// readInput is readAll that ends with the context. The read itself cannot be ended, but the program then is.
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
	data, err := io.ReadAll(io.LimitReader(r, maxArgument+1))
	if err == nil && len(data) > maxArgument {
		err = errTooLarge
	}
	return data, plain(err)
}

var errTooLarge = errors.New("more than " + size(maxArgument))

// unread is the failure to read an argument.
func unread(what string, err error) *failure {
	f := badArgs("%s: %v", what, err)
	if errors.Is(err, errTooLarge) {
		f.code = "too_large"
	}
	return f
}

// plain takes the operation off an error about a file.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// buildArguments makes the arguments of a call: what -d gave, if anything, with the assignments on top. A name that is given several times is an array. A
// name with dots in it is a property of a property, if the schema has it so.
func buildArguments(data []byte, assignments []assignment, schema []byte) ([]byte, error) {
	root := shapeOf(schema)
	object := new(tree)
	if err := object.expand(data, "-d"); err != nil {
		return nil, err
	}
	given := map[string][]value{}
	for _, a := range assignments {
		given[a.name] = append(given[a.name], a.value)
	}
	for _, a := range assignments {
		values := given[a.name]
		if values == nil {
			continue // done, at its first place
		}
		delete(given, a.name)
		path, leaf := root.path(a.name)
		encoded := values[0].encode(leaf)
		if len(values) > 1 {
			encoded = leaf.list(values)
		}
		if err := object.set(path, encoded); err != nil {
			return nil, badArgs("argument %q: %v", a.name, err)
		}
	}
	return object.append(nil), nil
}

// path splits a name at the dots that lead into an object, and returns the schema of what it names.
func (s shape) path(name string) ([]string, shape) {
	if leaf, ok := s.property(name); ok {
		return []string{name}, leaf
	}
	for i := range len(name) {
		if name[i] != '.' || i == 0 || i == len(name)-1 {
			continue
		}
		if outer, ok := s.property(name[:i]); ok && outer.isObject() {
			path, leaf := outer.path(name[i+1:])
			return append([]string{name[:i]}, path...), leaf
		}
	}
	return []string{name}, s.additional()
}

// A tree is a JSON object under construction. The order of its members is kept.
type tree struct {
	names   []string
	members map[string]*node
}

// A node is a value that is finished, or an object that is not.
type node struct {
	json   []byte
	object *tree
}

// expand adds the members of an object.
func (t *tree) expand(object []byte, where string) error {
	for token, value := range jsonscan.Members(object) {
		name, _ := jsonscan.Unquote(token)
		if t.members[string(name)] != nil {
			return badArgs("%s has %s twice", where, token)
		}
		t.put(string(name), &node{json: value})
	}
	return nil
}

func (t *tree) put(name string, n *node) {
	if t.members == nil {
		t.members = map[string]*node{}
	}
	if t.members[name] == nil {
		t.names = append(t.names, name)
	}
	t.members[name] = n
}

// set puts a value at a path. On its way there may only be objects.
func (t *tree) set(path []string, value []byte) error {
	name := path[0]
	n := t.members[name]
	switch {
	case len(path) == 1 && n != nil && n.object != nil:
		return errors.New("parts of it are given already")
	case len(path) == 1:
		t.put(name, &node{json: value})
		return nil
	case n == nil:
		n = &node{object: new(tree)}
		t.put(name, n)
	case n.object == nil && n.json[0] != '{':
		return fmt.Errorf("%q is given as %.40s, which is no object", name, n.json)
	case n.object == nil:
		n.object = new(tree)
		if err := n.object.expand(n.json, name); err != nil {
			return err
		}
	}
	return n.object.set(path[1:], value)
}

func (t *tree) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range t.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, name), ':')
		if n := t.members[name]; n.object != nil {
			dst = n.object.append(dst)
		} else {
			dst = append(dst, n.json...)
		}
	}
	return append(dst, '}')
}
