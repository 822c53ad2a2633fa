package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestResolve(t *testing.T) {
	for _, tc := range []struct{ base, reference, want string }{
		{"https://example.com/a/b", "c", "https://example.com/a/c"},
		{"https://example.com/a/b", "/c", "https://example.com/c"},
		{"", "c", "c"}, {"a", "b", "b"}, {"a/b", "../c", "c"}, {"a", "/b", "/b"}, {"/a", "b", "/b"},
		{"", "urn:x:y", "urn:x:y"}, {"a", "https://example.com", "https://example.com"},
	} {
		got, err := resolve(tc.base, tc.reference)
		assert.NilError(t, err)
		assert.Equal(t, got, tc.want, "%s + %s", tc.base, tc.reference)
	}
}

// Compile calls the loader once for each document, with its URI, and wraps its error.
func TestLoader(t *testing.T) {
	var asked []string
	load := Options{Load: func(uri string) ([]byte, error) {
		asked = append(asked, uri)
		switch uri {
		case "https://example.com/a":
			return []byte(`{"$defs":{"x":{"type":"string"},"y":{"$ref":"b#z"}}}`), nil
		case "https://example.com/b":
			return []byte(`{"$defs":{"z":{"$anchor":"z","type":"null"}}}`), nil
		}
		return nil, errors.ErrUnsupported
	}}
	s, err := load.Compile(
		[]byte(`{"$id":"https://example.com/","prefixItems":[{"$ref":"a#/$defs/x"},{"$ref":"a#/$defs/y"}]}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, asked, []string{"https://example.com/a", "https://example.com/b"})
	assert.NilError(t, s.Validate([]byte(`["",null]`)))
	assert.Error(t, s.Validate([]byte(`["",0]`)), "[1] must be null, not 0")

	_, err = load.Compile([]byte(`{"$ref":"https://example.com/c"}`))
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorIs(t, err, ErrReference)

	_, err = Options{Load: func(string) ([]byte, error) { return []byte(`{`), nil }}.Compile(
		[]byte(`{"$ref":"x"}`))
	assert.ErrorContains(t, err, `#/$ref: the document "x": invalid JSON`)
}

func TestDialects(t *testing.T) {
	items := `{"items":[{"type":"string"}],"additionalItems":false}`
	_, err := Compile([]byte(items))
	assert.ErrorContains(t, err, "#/items: a schema must be an object or a boolean")
	draft07, err := Options{DefaultDialect: Draft07}.Compile([]byte(items))
	assert.NilError(t, err)
	for _, s := range []*Schema{
		draft07,
		MustCompile(`{"$schema":"http://json-schema.org/draft-07/schema#",` + items[1:]),
		MustCompile(`{"$schema":"https://json-schema.org/draft-07/schema",` + items[1:]),
	} {
		assert.NilError(t, s.Validate([]byte(`["a"]`)))
		assert.Error(t, s.Validate([]byte(`["a",1]`)), "[1] must not be present")
	}

	meta := Options{Load: func(string) ([]byte, error) {
		return []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{"https://example.com/v":true}}`),
			nil
	}}
	_, err = meta.Compile([]byte(`{"$schema":"https://example.com/m"}`))
	assert.ErrorIs(t, err, ErrDialect)
	assert.ErrorContains(t, err, "requires the vocabulary https://example.com/v")
	_, err = Options{Load: func(string) ([]byte, error) {
		return []byte(`{"$schema":"https://example.com/m"}`), nil
	}}.Compile([]byte(`{"$schema":"https://example.com/m"}`))
	assert.ErrorContains(t, err, "is its own $schema")
}

// The meta-schemas compile, accept themselves and refuse an invalid schema.
func TestMetaschemas(t *testing.T) {
	for _, uri := range []string{Draft202012, Draft07} {
		s := MustCompile(`{"$ref":"` + uri + `"}`)
		assert.NilError(t, s.Validate(metaschema(uri)), uri)
		assert.ErrorContains(t, s.Validate([]byte(`{"properties":{"a":{"minLength":-1}}}`)),
			"properties.a.minLength must be at least 0, not -1", uri)
	}
	for _, file := range []string{"core", "applicator", "unevaluated", "validation", "meta-data",
		"format-annotation", "format-assertion", "content"} {
		uri := "https://json-schema.org/draft/2020-12/meta/" + file
		assert.NilError(t, MustCompile(`{"$ref":"`+Draft202012+`"}`).Validate(metaschema(uri)), uri)
	}
}

// The schemas of all revisions of MCP compile, and accept the examples of the newest.
func TestMCPSchemas(t *testing.T) {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set: the schemas of MCP are not tested")
	}
	files, err := filepath.Glob(filepath.Join(root, "mcp-schema", "*", "schema.json"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) >= 5)
	for _, file := range files {
		data, err := os.ReadFile(file)
		assert.NilError(t, err)
		var document struct {
			Defs        map[string]any `json:"$defs"`
			Definitions map[string]any
		}
		assert.NilError(t, json.Unmarshal(data, &document))
		load := Options{AssertFormats: true,
			Load: func(string) ([]byte, error) { return data, nil }}
		var all []string
		for prefix, names := range map[string]map[string]any{"$defs/": document.Defs,
			"definitions/": document.Definitions} {
			for name := range names {
				reference := `{"$ref":"mcp#/` + prefix + name + `"}`
				all = append(all, reference)
				examples, err := filepath.Glob(
					filepath.Join(filepath.Dir(file), "examples", name, "*.json"))
				assert.NilError(t, err)
				if len(examples) == 0 {
					continue
				}
				s, err := load.Compile([]byte(reference))
				assert.NilError(t, err, "%s %s", file, name)
				for _, example := range examples {
					data, err := os.ReadFile(example)
					assert.NilError(t, err)
					assert.NilError(t, s.Validate(data), example)
				}
			}
		}
		assert.Assert(t, len(all) > 50, "%s has %d definitions", file, len(all))
		_, err = load.Compile([]byte(`{"anyOf":[` + strings.Join(all, ",") + `]}`))
		assert.NilError(t, err, file)
	}
}

// A keyword that occurs twice is found in small and in large schemas, even if it is escaped once.
func TestDuplicateKeyword(t *testing.T) {
	for _, others := range []int{0, 3, 15, 100} {
		var text strings.Builder
		for i := range others {
			fmt.Fprintf(&text, `"x%d":[{}],`, i)
		}
		_, err := Compile([]byte(`{` + text.String() + `"title":"a","\u0074itle":"b"}`))
		assert.Error(t, err, `schema #/title: the keyword occurs twice`, "%d", others)
		_, err = Compile([]byte(`{` + text.String() + `"title":"a"}`))
		assert.NilError(t, err, "%d", others)
	}
}

// A schema can refer to its root in each form of reference, with and without $id, and keywords may
// be escaped.
func TestNamesAndReferences(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"a":{"$ref":"./"}},"type":"object"}`,
		`{"properties":{"a":{"$ref":"#"}},"type":"object"}`,
		`{"properties":{"a":{"$ref":"#me"}},"type":"object","$anchor":"me"}`,
		`{"properties":{"a":{"\u0024ref":"#me"}},"type":"object","\u0024anchor":"me"}`,
		`{"properties":{"a":{"\u0024ref":"x"}},"type":"object","\u0024id":"x"}`,
	} {
		s := MustCompile(schema)
		assert.NilError(t, s.Validate([]byte(`{"a":{"a":{}}}`)), schema)
		assert.Error(t, s.Validate([]byte(`{"a":{"a":1}}`)),
			"a.a must be an object, not 1", schema)
	}
}

// AssertFormats does not change what all calls of Compile share.
func TestAssertFormatsAffectsOneCompile(t *testing.T) {
	for range 2 {
		assert.Assert(t, withFormats(t, `{"format":"ipv4"}`).Validate([]byte(`"x"`)) != nil)
		assert.NilError(t, MustCompile(`{"format":"ipv4"}`).Validate([]byte(`"x"`)))
	}
}

// withFormats compiles a schema whose formats are assertions.
func withFormats(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Options{AssertFormats: true}.Compile([]byte(text))
	assert.NilError(t, err)
	return s
}
