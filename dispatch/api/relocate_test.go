package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestRelocate(t *testing.T) {
	const seven = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for from, want := range map[string]string{
		`true`:              `true`,
		`false`:             `false`,
		`{"type":"object"}`: `{"type":"object"}`,
		`{ "$schema" : "https://json-schema.org/draft/2020-12/schema" , "$id":"a", "a" : [ 1 , { } ] }`: `{"a":[1,{}]}`,
		`{"$ref":"#/$defs/x","$defs":{"x":true}}`:                                                       `{"$ref":"#/to/x%20y/$defs/x","$defs":{"x":true}}`,
		`{"$ref":"#x","$defs":{"a/b~c":{"$anchor":"x"}}}`:                                               `{"$ref":"#/to/x%20y/$defs/a~1b~0c","$defs":{"a/b~c":{}}}`,
		`{"$defs":{"x":{"$id":"http://a/b","items":{"$ref":"#"}}},"$ref":"http://a/b"}`:                 `{"$defs":{"x":{"items":{"$ref":"#/to/x%20y/$defs/x"}}},"$ref":"#/to/x%20y/$defs/x"}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema","title":"a"}`:                           `{"x-ref":"https://json-schema.org/draft/2020-12/schema","title":"a"}`,
		`{"properties":{"$ref":{"const":{"$ref":"#"}}},"default":{"$id":1}}`:                            `{"properties":{"$ref":{"const":{"$ref":"#"}}},"default":{"$id":1}}`,
		`{"dependencies":{"a":["b"],"c":{"$ref":"#"}}}`:                                                 `{"dependentSchemas":{"c":{"$ref":"#/to/x%20y"}},"dependentRequired":{"a":["b"]}}`,
		`{"dependencies":{}}`: `{}`,
		`{` + seven + `"items":[{"$ref":"#/additionalItems"}],"additionalItems":{}}`:                            `{"prefixItems":[{"$ref":"#/to/x%20y/items"}],"items":{}}`,
		`{` + seven + `"items":[],"additionalItems":false}`:                                                     `{"x-items":[],"items":false}`,
		`{` + seven + `"items":{"$ref":"#/not"},"not":{}}`:                                                      `{"items":{"$ref":"#/to/x%20y/not"},"not":{}}`,
		`{` + seven + `"$ref":"#/properties/x","properties":{"x":{"$id":"#x"}},"title":"a","$id":"http://a/b"}`: `{"$ref":"#/to/x%20y/x-properties/x","x-properties":{"x":{}},"title":"a"}`,
		`{` + seven + `"$ref":"#x","definitions":{"x":{"$id":"#x","minContains":7}}}`:                           `{"$ref":"#/to/x%20y/definitions/x","definitions":{"x":{"x-minContains":7}}}`,
	} {
		moved, ok := relocate(json.RawMessage(from), "/to/x y")
		assert.Assert(t, ok, from)
		assert.Equal(t, string(moved), want, from)
	}
	_, ok := relocate(json.RawMessage(`{"$defs":{"x":{"$dynamicRef":"#a","$dynamicAnchor":"a"}}}`),
		"/to")
	assert.Assert(t, !ok)
}

// What a schema says of a document does not change when it is moved: all that
// JSON-Schema-Test-Suite has.
func TestRelocatedSchemasSayTheSame(t *testing.T) {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set: JSON-Schema-Test-Suite is not tested")
	}
	for draft, uri := range map[string]string{"draft7": schema.Draft07,
		"draft2020-12": schema.Draft202012} {
		files, err := filepath.Glob(
			filepath.Join(root, "JSON-Schema-Test-Suite", "tests", draft, "*.json"))
		assert.NilError(t, err)
		moved := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			assert.NilError(t, err)
			var groups []struct {
				Description string
				Schema      json.RawMessage
				Tests       []struct {
					Description string
					Data        json.RawMessage
				}
			}
			assert.NilError(t, json.Unmarshal(text, &groups))
			for _, group := range groups {
				name := fmt.Sprintf("%s/%s: %s", draft, filepath.Base(file), group.Description)
				text := group.Schema
				if text[0] == '{' && jsonscan.Member(text, "$schema") == nil {
					text = json.RawMessage(
						strings.Replace(string(text), "{", `{"$schema":"`+uri+`",`, 1))
					text = json.RawMessage(strings.Replace(string(text), ",}", "}", 1))
				}
				original, err := schema.Compile(text)
				if err != nil {
					continue // wants documents that are not here
				}
				there, ok := relocate(text, "/components/schemas/a")
				if !ok {
					assert.Assert(t, strings.Contains(string(text), "$dynamicRef"), name)
					continue
				}
				if strings.Contains(string(there), `"x-ref":`) {
					continue
				}
				moved++
				elsewhere, err := schema.Compile(
					[]byte(`{"$ref":"#/components/schemas/a","components":{"schemas":{"a":` +
						string(there) + `}}}`))
				assert.NilError(t, err, "%s: %s", name, there)
				for _, test := range group.Tests {
					before, after := original.Validate(test.Data), elsewhere.Validate(test.Data)
					assert.Equal(t, before == nil, after == nil, "%s, %s: %v, %v\n%s\n%s", name,
						test.Description, before, after, text, there)
				}
			}
		}
		assert.Assert(t, moved > 200, "%s: %d", draft, moved)
	}
}

// Whatever compiles can be moved: what comes out is JSON, and compiles where it is.
func FuzzRelocate(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","$defs":{"a":{"$id":"x","$anchor":"y"}},"$ref":"x#y"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#/items/0"}],"dependencies":{"a":["b"]}}`,
		`{"$ref":"#/a/0","a":[{"b":{"$ref":"#/a"}}]}`,
		`{"$id":"urn:x:y","properties":{"":{"$ref":"#/properties/"}}}`,
		`{"$ref":"#/%24defs/a~1b","$defs":{"a/b":true}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := schema.Compile(text); err != nil {
			return
		}
		var line json.RawMessage
		assert.NilError(t, json.Unmarshal(text, &line))
		moved, ok := relocate(line, "/components/schemas/a")
		assert.NilError(t, jsonscan.Valid(moved), "%s", moved)
		if ok {
			_, err := schema.Compile(
				[]byte(`{"$ref":"#/components/schemas/a","components":{"schemas":{"a":` +
					string(moved) + `}}}`))
			assert.NilError(t, err, "%s", moved)
		}
	})
}
