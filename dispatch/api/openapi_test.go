package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

func anybody(*http.Request) (string, error) { return "", nil }

// strange is a catalog of schemas that are hard to move.
func strange(t testing.TB) *dispatch.Catalog {
	c := dispatch.NewCatalog()
	for name, schema := range map[string]string{
		"ref.root":   `{"type":"object","properties":{"again":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`,
		"ref.names":  `{"type":"object","$defs":{"a/b":{"type":"string"},"c~d %é":{"$ref":"#/$defs/a~1b"}},"properties":{"x":{"$ref":"#/$defs/c~0d%20%25%C3%A9"}}}`,
		"ref.anchor": `{"type":"object","$defs":{"x":{"$anchor":"here","type":"string"}},"properties":{"x":{"$ref":"#here"}}}`,
		"ref.id":     `{"$id":"https://example.test/a/b.json","type":"object","$defs":{"x":{"$id":"c.json","$defs":{"y":{"type":"string"}},"$ref":"#/$defs/y"}},"properties":{"x":{"$ref":"c.json"},"y":{"$ref":"/a/b.json#/$defs/x"}}}`,
		// the same id again
		"ref.id2":       `{"$id":"https://example.test/a/b.json","type":"object","properties":{"x":{"type":"integer"}}}`,
		"ref.anywhere":  `{"type":"object","properties":{"x":{"$ref":"#/elsewhere/0/y"}},"elsewhere":[{"y":{"items":{"$ref":"#/elsewhere/0/z"}},"z":{"type":"string"}}]}`,
		"ref.meta":      `{"type":"object","properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`,
		"ref.dynamic":   `{"type":"object","$dynamicAnchor":"node","properties":{"next":{"$dynamicRef":"#node"}}}`,
		"seven.ref":     `{"$schema":"http://json-schema.org/draft-07/schema","type":"object","$ref":"#/definitions/x","maxProperties":0,"definitions":{"x":{"properties":{"y":{"type":"string"}},"required":["y"]}}}`,
		"seven.newer":   `{"$schema":"https://json-schema.org/draft-07/schema#","type":"object","dependentRequired":{"a":["b"]},"unevaluatedProperties":false,"minContains":"what","properties":{"l":{"prefixItems":[false]}}}`,
		"seven.tuple":   `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"l":{"items":[true,{"type":"string"}],"additionalItems":{"$ref":"#/properties/l/items/1"}},"m":{"items":{"type":"string"},"additionalItems":false}}}`,
		"other.depends": `{"type":"object","dependencies":{"a":["b"],"c":{"required":["d"]},"e":false}}`,
		"other.both":    `{"type":"object","dependencies":{"a":["b"]},"dependentRequired":{"c":["d"]}}`,
	} {
		dispatch.Add(c, dispatch.Spec{Name: name, Summary: "Echo what fits.", Type: dispatch.Read,
			Input: json.RawMessage(schema), Output: json.RawMessage(schema)}, echo[json.RawMessage])
	}
	dispatch.Add(c, dispatch.Spec{Name: "other.true", Summary: "Anything.", Type: dispatch.Read,
		Output: json.RawMessage(`true`)}, echo[json.RawMessage])
	dispatch.Add(c, dispatch.Spec{Name: "other.never", Summary: "Never succeeds.",
		Type: dispatch.Read, Output: json.RawMessage(`false`)}, echo[json.RawMessage])
	dispatch.Add(c, dispatch.Spec{Name: "Under_score-d.x.y.z", Summary: "Has a <name>.",
		Type: dispatch.Eval}, echo[struct{}])
	dispatch.Add(c, dispatch.Spec{Name: "other.least", Summary: "Wants something.",
		Type: dispatch.Read, Input: json.RawMessage(`{"type":"object","minProperties":1}`)},
		echo[json.RawMessage])
	return c
}

type argument struct {
	operation, params string
	valid             bool
}

// cases are arguments for operations of strange, and whether they are valid.
var cases = []argument{
	{"ref.root", `{"again":{"again":{"n":1}}}`, true},
	{"ref.root", `{"again":{"again":{"n":"x"}}}`, false},
	{"ref.root", `{"again":{"action":"root"}}`, false}, // its # is not the document's
	{"ref.names", `{"x":"y"}`, true},
	{"ref.names", `{"x":1}`, false},
	{"ref.anchor", `{"x":"y"}`, true},
	{"ref.anchor", `{"x":1}`, false},
	{"ref.id", `{"x":"y","y":"z"}`, true},
	{"ref.id", `{"x":1}`, false},
	{"ref.id", `{"y":1}`, false},
	{"ref.id2", `{"x":1}`, true},
	{"ref.anywhere", `{"x":["y"]}`, true},
	{"ref.anywhere", `{"x":[1]}`, false},
	{"ref.meta", `{"schema":{"type":"string"}}`, true},
	{"ref.dynamic", `{"next":{"next":{}}}`, true},
	{"seven.ref", `{"y":"x"}`, true},
	{"seven.ref", `{}`, false},
	{"seven.newer", `{"a":1,"l":[1]}`, true},
	{"seven.tuple", `{"l":[1,"x","y"],"m":["x","y"]}`, true},
	{"seven.tuple", `{"l":[1,2]}`, false},
	{"seven.tuple", `{"l":[1,"x",2]}`, false},
	{"seven.tuple", `{"m":[1]}`, false},
	{"other.depends", `{"a":1,"b":1,"c":1,"d":1}`, true},
	{"other.depends", `{"a":1}`, false},
	{"other.depends", `{"c":1}`, false},
	{"other.depends", `{"e":1}`, false},
	{"other.both", `{"c":1}`, false},
	{"other.true", `{}`, true},
	{"other.least", `{"x":1}`, true},
	{"other.least", `{}`, false},
	{"Under_score-d.x.y.z", `{}`, true},
	{"Under_score-d.x.y.z", `{"x":1}`, false},
}

// The document says of a call what the handler does with it.
func TestDocumentAgreesWithTheHandler(t *testing.T) {
	c := strange(t)
	// What looks like a keyword of a schema and is data. Other programs stumble over this one.
	dispatch.Add(c, dispatch.Spec{Name: "ref.data", Summary: "Echo what fits.", Type: dispatch.Read,
		Input: json.RawMessage(`{"type":"object",
		"default":{"$ref":"#/nowhere","$id":"x"},"properties":{"$id":{"const":{"$anchor":1}},"x":{"enum":[{"$ref":"#/nowhere"}]},"$ref":{"type":"string"}}}`)}, echo[json.RawMessage])
	s := newSurface(c, api.Options{})
	doc := s.openAPI(t)
	for _, test := range append(slices.Clone(cases), []argument{
		{"ref.data", `{"$id":{"$anchor":1},"x":{"$ref":"#/nowhere"},"$ref":"y"}`, true},
		{"ref.data", `{"$ref":1}`, false}, {"ref.data", `{"$id":"x"}`, false},
		{"ref.data", `{"x":1}`, false},
	}...) {
		service, action, _ := strings.Cut(test.operation, ".")
		body := fmt.Sprintf(`{"action":%q,"params":%s}`, action, test.params)
		a := s.call(t, service, body) // which holds the answer against the document
		assert.Equal(t, a.Code == 200, test.valid, "%s: %s", body, a.Body)
		says := doc.schema(t, "/paths/~1v1~1"+service+
			"/post/requestBody/content/application~1json/schema").Validate([]byte(body))
		assert.Equal(t, says == nil, test.valid, "%s: %v", body, says)
	}
	// a result that its schema refuses
	assert.Equal(t, s.call(t, "other", `{"action":"never"}`).Code, 500)
}

func TestDocumentSaysWhatACallTakes(t *testing.T) {
	s := newSurface(notes(t), api.Options{})
	doc := s.openAPI(t)
	for body, fits := range map[string]bool{
		`{"action":"get","params":{"id":"7"}}`:                true,
		`{"action":"get","params":{"id":"7"},"instance":"b"}`: true,
		`{"action":"get","params":{"id":"7"},"session":"b"}`:  false,
		`{"action":"get","params":{"id":"7"},"confirm":true}`: false,
		`{"action":"get"}`:                                          false,
		`{"action":"delete"}`:                                       true,
		`{"action":"delete","confirm":true}`:                        true,
		`{"action":"delete","instance":"b"}`:                        false,
		`{"params":{}}`:                                             false,
		`{"action":"any"}`:                                          true,
		`{"action":"any","params":{"anything":[1]},"unknown":1}`:    false,
		`{"action":"get","params":{"id":"7"},"instance":["b"]}`:     false,
		`{"action":"tree","params":{"name":"a","children":[{}]}}`:   false,
		`{"action":"tree","params":{"name":"a","children":"none"}}`: false,
	} {
		err := doc.schema(t,
			"/paths/~1v1~1note/post/requestBody/content/application~1json/schema").Validate(
			[]byte(body))
		assert.Equal(t, err == nil, fits, "%s: %v", body, err)
	}
}

// A difference here is a change of what users see. Accept one with: go test ./dispatch/api -run
// Golden -update
func TestGoldenDocument(t *testing.T) {
	s := newSurface(notes(t), api.Options{Title: "Notes", Version: "1.2.3", Principal: anybody})
	var whole any
	assert.NilError(t,
		json.Unmarshal(s.get(request(t, "GET", "/v1/openapi.json", "")).Body.Bytes(), &whole))
	text, err := json.MarshalIndent(whole, "", "  ")
	assert.NilError(t, err)
	golden.Assert(t, string(text)+"\n", "openapi.json")
}

func TestDocumentOfManyOperationsIsTheSameEachTime(t *testing.T) {
	c := many(t)
	first := newSurface(c,
		api.Options{}).get(request(t, "GET", "/v1/openapi.json", "")).Body.String()
	for range 5 {
		assert.Equal(t, newSurface(c,
			api.Options{}).get(request(t, "GET", "/v1/openapi.json", "")).Body.String(), first)
	}
}

func many(t testing.TB) *dispatch.Catalog {
	c := dispatch.NewCatalog()
	kinds := []dispatch.Type{dispatch.Read, dispatch.Write, dispatch.Destructive,
		dispatch.Lifecycle, dispatch.Wait, dispatch.Eval}
	for i := range 300 {
		dispatch.Add(c, dispatch.Spec{
			Name: fmt.Sprintf("s%d.op%d", i%20, i), Summary: "Does.", Type: kinds[i%len(kinds)],
			Errors:   []dispatch.Code{c.Codes()[i%15].Code},
			Examples: []dispatch.Example{{Summary: "One", Input: json.RawMessage(`{"name":"x"}`)}},
		}, echo[tree])
	}
	return c
}

// The documents hold before a validator of OpenAPI and another implementation of JSON Schema, and
// these judge real answers as they should.
func TestDocumentsWithOutsideValidators(t *testing.T) {
	root := os.Getenv("STDWIRE_NODE_DIR")
	if root == "" {
		t.Skip("STDWIRE_NODE_DIR is not set: there is no validator of OpenAPI; see .ci/node")
	}
	dir := t.TempDir()
	modules := filepath.Join(root, "node_modules")
	assert.NilError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	script, err := os.ReadFile("testdata/validate.mjs")
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "validate.mjs"), script, 0o600))
	type check struct {
		Schema string          `json:"schema"`
		Value  json.RawMessage `json:"value"`
		Fits   bool            `json:"fits"`
	}
	write := func(name string, s *surface, checks []check) string {
		text, err := json.Marshal(
			map[string]any{"document": s.openAPI(t), "cases": append([]check{}, checks...)})
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		return name
	}
	odd := newSurface(strange(t), api.Options{})
	var checks []check
	for _, test := range cases {
		service, action, _ := strings.Cut(test.operation, ".")
		about, body := "/paths/~1v1~1"+service+"/post/",
			fmt.Sprintf(`{"action":%q,"params":%s}`, action, test.params)
		a := odd.ask(t, "POST", "/v1/"+service, body)
		checks = append(checks,
			check{about + "requestBody/content/application~1json/schema", json.RawMessage(body),
				test.valid},
			check{about + fmt.Sprintf("responses/%d/content/application~1json/schema", a.Code),
				a.Body.Bytes(), true})
	}
	empty := write("empty.json", newSurface(dispatch.NewCatalog(), api.Options{}), []check{
		{"/paths/~1v1~1manifest/get/responses/200/content/application~1json/schema",
			dispatch.NewCatalog().Manifest(), true},
		{"/paths/~1v1~1manifest/get/responses/default/content/application~1json/schema",
			json.RawMessage(`{"success":true,"data":{},"error":null}`), false},
	})
	files := []string{
		empty, write("strange.json", odd, checks),
		write("notes.json", newSurface(notes(t), api.Options{Principal: anybody}), nil),
		write("many.json", newSurface(many(t), api.Options{}), nil),
	}
	run := func(files ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		node := filepath.Join(modules, ".bin", "node")
		if _, err := os.Stat(node); err != nil {
			node = "node"
		}
		cmd := exec.CommandContext(ctx, node, append([]string{"validate.mjs"}, files...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(files...)
	assert.NilError(t, err, "%s", out)

	// A document that is wrong does not pass.
	for _, change := range [][2]string{
		{`"#/components/schemas/meta"`, `"#/components/schemas/meat"`},
		{`"requestBody":{`, `"requestBody":{"wrong":1,`}, {`"id":"7"`, `"id":7`},
		{`"type":"string"`, `"type":"strange"`}} {
		text, err := os.ReadFile(filepath.Join(dir, "notes.json"))
		assert.NilError(t, err)
		wrong := strings.Replace(string(text), change[0], change[1], 1)
		assert.Assert(t, wrong != string(text), change[0])
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "wrong.json"), []byte(wrong), 0o600))
		out, err := run("wrong.json")
		_, failed := errors.AsType[*exec.ExitError](err)
		assert.Assert(t, failed &&
			strings.HasPrefix(out, "wrong.json: "), "%s: %v %s", change[1], err, out)
	}
}
