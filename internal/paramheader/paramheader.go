// Package paramheader is about the headers of Streamable HTTP that repeat parameters of tools, so
// that intermediaries can use them without parsing the body, and about the values of headers (MCP
// 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters" and "Value Encoding").
package paramheader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Param is a parameter of a tool that the HTTP request repeats in a header.
type Param struct {
	Header string   // case-insensitive
	Path   []string // the path of properties to it: {"where", "region"}
}

// Prefix is the prefix of the headers of parameters.
const Prefix = "Mcp-Param-"

// annotation is the JSON Schema keyword that marks a property as a [Param].
const annotation = "x-mcp-header"

// Of returns the annotated parameters of a tool in the order of its schema. It returns nil if there
// are none, or if the schema is not a valid JSON object. The error describes an invalid annotation:
// an HTTP client must not offer such a tool.
func Of(inputSchema json.RawMessage) ([]Param, error) {
	if !bytes.Contains(inputSchema, []byte(annotation)) || jsonscan.Valid(inputSchema) != nil {
		return nil, nil
	}
	w := headerWalk{seen: map[string]bool{}}
	if err := w.walkSchema(inputSchema, nil, true); err != nil {
		return nil, err
	}
	return w.found, nil
}

type headerWalk struct {
	found []Param
	seen  map[string]bool // names in lower case
}

// subschemas are the keywords whose values are subschemas that are not at a fixed property path: a
// schema, a list of schemas, or schemas by name.
var subschemas = []string{
	"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "oneOf", "anyOf",
	"allOf", "not", "if", "then", "else", "dependentSchemas",
	"dependencies", "patternProperties", "additionalProperties", "propertyNames",
	"unevaluatedProperties", "contentSchema", "$defs", "definitions",
}

// walkSchema walks one schema. If reachable is true, path is its property path.
func (w *headerWalk) walkSchema(schema []byte, path []string, reachable bool) error {
	if schema[0] != '{' {
		return nil
	}
	for token, value := range jsonscan.Members(schema) {
		name, _ := jsonscan.Text(token)
		switch {
		case name == annotation:
			if err := w.add(schema, value, path, reachable); err != nil {
				return err
			}
		case name == "properties":
			for name, property := range jsonscan.Named(value) {
				if err := w.walkSchema(property, append(slices.Clip(path), name),
					reachable); err != nil {
					return err
				}
			}
		case slices.Contains(subschemas, name):
			if err := w.walkSubschemas(value, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// walkSubschemas walks the subschemas of a keyword. They have no property path.
func (w *headerWalk) walkSubschemas(value []byte, keyword string) error {
	switch keyword {
	case "dependentSchemas", "dependencies", "patternProperties", "$defs", "definitions":
		for _, schema := range jsonscan.Members(value) {
			if err := w.walkSchema(schema, nil, false); err != nil {
				return err
			}
		}
		return nil
	}
	for schema := range jsonscan.Elements(value) {
		if err := w.walkSchema(schema, nil, false); err != nil {
			return err
		}
	}
	return w.walkSchema(value, nil, false)
}

func (w *headerWalk) add(schema, value []byte, path []string, reachable bool) error {
	name, isText := jsonscan.Text(value)
	switch {
	case !isText || !httptoken.Is(name):
		return fmt.Errorf(
			"the %s %.100s is not a header name: it must be a string of letters, digits and !#$%%&'*+-.^_`|~",
			annotation, value)
	case !reachable || len(path) == 0:
		return fmt.Errorf(
			"the %s %q cannot be reached from the root of the schema by properties alone",
			annotation, name)
	case !isHeaderType(jsonscan.Member(schema, "type")):
		return fmt.Errorf("the %s %q is on a property whose type is not string, integer or boolean",
			annotation, name)
	case w.seen[strings.ToLower(name)]:
		return fmt.Errorf("the %s %q occurs twice", annotation, name)
	}
	w.seen[strings.ToLower(name)] = true
	w.found = append(w.found, Param{Prefix + name, slices.Clone(path)})
	return nil
}

// isHeaderType reports whether headers can carry values of a type: string, integer, boolean, or one
// of them and null, for which no header is sent.
func isHeaderType(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	if value[0] != '[' {
		return jsonscan.KeyIs(value, "string") || jsonscan.KeyIs(value, "integer") ||
			jsonscan.KeyIs(value, "boolean")
	}
	carried := 0
	for element := range jsonscan.Elements(value) {
		if isHeaderType(element) {
			carried++
		} else if !jsonscan.KeyIs(element, "null") {
			return false
		}
	}
	return carried == 1
}

var errNoHeader = errors.New("neither a string, a boolean nor an integer within ±(2^53-1)")

// Value returns the value of the header, before [Encode], for the arguments of a call, a valid JSON
// object. It returns false if there must be no header because the argument is absent or null. It
// fails if a header cannot carry the argument.
func (p *Param) Value(arguments json.RawMessage) (text string, ok bool, err error) {
	value := []byte(arguments)
	for _, name := range p.Path {
		if len(value) == 0 || value[0] != '{' {
			return "", false, nil
		}
		value = jsonscan.Member(value, name)
	}
	if len(value) == 0 || value[0] == 'n' {
		return "", false, nil
	}
	switch value[0] {
	case '"':
		text, _ = jsonscan.Text(value)
		return text, true, nil
	case 't', 'f':
		return string(value), true, nil
	case '{', '[':
		return "", false,
			fmt.Errorf("the argument %s is %w", strings.Join(p.Path, "."), errNoHeader)
	}
	n, err := safeInteger(string(value))
	if err != nil {
		return "", false, fmt.Errorf("the argument %s is %w", strings.Join(p.Path, "."), err)
	}
	return strconv.FormatInt(n, 10), true, nil
}

// Check compares the values of a received header with the arguments of a call, a valid JSON object.
// If it returns an error, a server must refuse the request with mcp.CodeHeaderMismatch.
func (p *Param) Check(values []string, arguments json.RawMessage) error {
	path := strings.Join(p.Path, ".")
	switch {
	case len(values) > 1:
		return fmt.Errorf("%s occurs more than once", p.Header)
	case hasDuplicate(arguments, p.Path):
		return fmt.Errorf("the argument %s occurs more than once", path)
	}
	want, expected, err := p.Value(arguments)
	switch {
	case err != nil:
		return err
	case !expected && len(values) == 0:
		return nil
	case !expected:
		return fmt.Errorf("the header %s is present, but the argument %s is not", p.Header, path)
	case len(values) == 0:
		return fmt.Errorf("the header %s is missing", p.Header)
	}
	got, err := Decode(values[0])
	if err != nil {
		return fmt.Errorf("the header %s %w", p.Header, err)
	}
	if got == want {
		return nil
	}
	a, errA := safeInteger(got)
	b, errB := safeInteger(want)
	if errA == nil && errB == nil && a == b && p.isNumber(arguments) {
		return nil // 42.0 equals 42
	}
	return fmt.Errorf("the header %s differs from the argument %s", p.Header, path)
}

// hasDuplicate reports whether a member on a path occurs more than once. Another JSON reader might
// use the value that was not compared.
func hasDuplicate(object []byte, path []string) bool {
	for _, name := range path {
		var found []byte
		for token, value := range jsonscan.Members(object) {
			switch {
			case !jsonscan.KeyIs(token, name):
			case found != nil:
				return true
			default:
				found = value
			}
		}
		object = found
	}
	return false
}

func (p *Param) isNumber(arguments json.RawMessage) bool {
	value := []byte(arguments)
	for _, name := range p.Path {
		value = jsonscan.Member(value, name)
	}
	return value[0] != '"'
}

// safeInteger parses a JSON number that is an integer within the safe range of JavaScript.
func safeInteger(text string) (int64, error) {
	const most = 1<<53 - 1
	n, ok := jsonscan.Int([]byte(text), 64)
	if !ok || n < -most || n > most {
		return 0, errNoHeader
	}
	return n, nil
}
