package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// The keywords with schemas that do not apply to the object of all arguments but to values in it:
// those whose value is a schema or an array of them, and those whose value is an object of them.
var (
	schemaKeywords = []string{"additionalProperties", "unevaluatedProperties", "propertyNames",
		"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "contentSchema",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
	schemasKeywords = []string{"properties", "patternProperties", "dependentSchemas",
		"dependencies", "$defs", "definitions"}
	// conditions are the keywords of the root whose schemas writer.object changes.
	conditions = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"dependentSchemas", "dependencies"}
)

// subschema returns the schema of a value within the arguments. Only its references change.
func (w *writer) subschema(text json.RawMessage) (json.RawMessage, error) {
	if text[0] != '{' {
		return text, nil
	}
	return members(text, nil, func(keyword string, value json.RawMessage) (json.RawMessage, error) {
		switch isText := value[0] == '"'; {
		case keyword == "$ref" && isText:
			return w.reference(value)
		case keyword == "$id" && isText, keyword == "$dynamicRef", keyword == "$recursiveRef":
			return nil, fmt.Errorf("a part of it has %q", keyword)
		}
		return w.nested(keyword, value)
	})
}

// nested returns the value of a keyword, of which only references change.
func (w *writer) nested(keyword string, value json.RawMessage) (json.RawMessage, error) {
	switch {
	case slices.Contains(schemaKeywords, keyword):
		return each(value, false, w.subschema)
	case slices.Contains(schemasKeywords, keyword):
		return each(value, true, w.subschema)
	}
	return value, nil
}

// each converts a value, the elements of an array or, if it is named, the members of an object.
func each(value json.RawMessage, named bool,
	convert func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	switch {
	case value[0] == '[':
		out := []byte{'['}
		for element := range jsonscan.Elements(value) {
			converted, err := convert(element)
			if err != nil {
				return nil, err
			}
			out = jsonscan.AppendElement(out, converted)
		}
		return append(out, ']'), nil
	case named && value[0] == '{':
		return members(value, nil, func(_ string, member json.RawMessage) (json.RawMessage, error) {
			return each(member, false, convert) // an array in dependencies
		})
	case named:
		return value, nil
	}
	return convert(value)
}

// reference returns a $ref that refers to the same schema as text, where that is called otherwise.
func (w *writer) reference(text json.RawMessage) (json.RawMessage, error) {
	target, _ := jsonscan.Text(text)
	pointer, isPointer := strings.CutPrefix(target, "#/")
	if !isPointer {
		switch {
		case target == "#" || target == "":
			return nil, errors.New("a part of it refers to the whole")
		case !strings.HasPrefix(target, "#"):
			return nil, fmt.Errorf("it refers to another document, %.100q", target)
		}
		return text, nil // an anchor
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, fmt.Errorf("it has an invalid $ref, %.100q", target)
	}
	tokens := strings.Split(pointer, "/")
	switch keyword := tokens[0]; {
	case slices.Contains(conditions, keyword):
		return nil, fmt.Errorf("%.100q refers to a condition on the arguments", target)
	case keyword != "properties" || len(tokens) == 1:
		return text, nil
	}
	own := jsonscan.UnescapePointer(tokens[1])
	if w.fixed[own] != nil {
		return nil, fmt.Errorf("%.100q refers to the schema of a hidden argument", target)
	}
	public, renamed := w.public[own]
	if !renamed {
		return text, nil
	}
	for i, token := range tokens {
		tokens[i] = jsonscan.UnescapePointer(token)
	}
	tokens[1] = public
	return jsonscan.AppendString(nil, "#"+fragment(tokens...)), nil
}

// fragment returns a JSON Pointer for the fragment of a URI.
func fragment(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + url.PathEscape(jsonscan.EscapePointer(token)))
	}
	return b.String()
}
