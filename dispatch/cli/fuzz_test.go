package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// Whatever is typed, what the dispatcher gets is JSON (see runOn), a failure is one line, and the
// exit code is one of the table.
func FuzzCommandLine(f *testing.F) {
	for _, line := range []string{
		"note\nadd\n--title\nx\n--size.width=3\n--tags:=[1]",
		"note\nadd\n--json\n{\"title\":1}\n--done", "--help", "note\nadd\n-h", "-o\njson\n-",
		"note\narchive\nold\n--yes", "completion\nbash", "__complete\nnote\nadd\n--",
		"open\n--a.b=1\n--a:={}\n--a.b:={}\n--a.b.c",
		"test\nprint\n--data:=[{\"a\":1},{\"b\":\"\\u001b\"}]",
		"note\nadd\n--no-\n--=\n--.=\n--:=1",
	} {
		f.Add(line)
	}
	catalog := notesCatalog()
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "@") || strings.Contains(line, "wait") {
			return // reads whatever there is; waits for ever
		}
		r := runOn(t, catalog, input("{}"), strings.Split(line, "\n")...)
		assert.Equal(t, r.code == 0, r.err == "" ||
			strings.Contains(r.err, "there is more than this"), "%d %s", r.code, r.err)
		if r.code != 0 && !json.Valid([]byte(r.err)) {
			assert.Equal(t, strings.Count(r.err, "\n"), 1, r.err)
			assert.Assert(t, strings.HasPrefix(r.err, "notes: "), r.err)
			assert.Assert(t, strings.IndexFunc(r.err[:len(r.err)-1], unicode.IsControl) < 0, "%q",
				r.err)
		}
	})
}

// Help and completion come to an end for every schema, and change nothing.
func FuzzSchema(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"allOf":[{"$ref":"#/properties/x"},{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/a"}},{"enum":[1,"a",{}]}]}}}`,
		`{"type":"object","properties":{"a":{"properties":{"b":{},"c":{"additionalProperties":{}}}}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"":{},"a b":{"type":["boolean","null"],"default":true,"description":"x\u001b"},"json":{"const":null}}}`,
	} {
		f.Add([]byte(schema), "x")
	}
	f.Fuzz(func(t *testing.T, schema []byte, name string) {
		op, err := dispatch.NewOperation(
			dispatch.Spec{Name: "go", Summary: "Go.", Type: dispatch.Read,
				Input: bytes.Clone(schema)}, anything)
		if err != nil || strings.Contains(name, "@") || name == "-" {
			return
		}
		catalog := dispatch.NewCatalog()
		assert.NilError(t, catalog.Register(op))
		assert.Equal(t, runOn(t, catalog, nil, "go", "--help").code, 0)
		assert.Equal(t, runOn(t, catalog, nil, "__complete", "go", "--"+name+"=").code, 0)
		runOn(t, catalog, nil, "go", "--"+name, "1", "--"+name+"."+name+"=1", "--"+name+":=[]")
	})
}
