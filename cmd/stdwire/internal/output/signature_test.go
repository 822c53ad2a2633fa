package output

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
	"gotest.tools/v3/assert"
)

func signature(name, schema string) string {
	return strings.Join(Signature(&mcp.Tool{Name: name, InputSchema: []byte(schema)}), " ")
}

func TestSignature(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"type":"object"}`, `t()`},
		{`{"type":"object","properties":{}}`, `t()`},
		{`{"type":"object","properties":{"opt":{"type":"integer"},"req":{"type":"string"}},"required":["req"]}`,
			`t(req: string, [opt: integer])`},
		{`{"properties":{"nested":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}},"required":["nested"]}`,
			`t(nested: {a: string}[])`},
		{`{"properties":{"x":{"enum":["a","b",1]},"y":{"const":true}}}`,
			`t([x: "a"|"b"|1], [y: true])`},
		{`{"properties":{"x":{"type":["string","null"]},"y":{"anyOf":[{"type":"integer"},{"type":"null"},{"type":"integer"}]}}}`,
			`t([x: string|null], [y: integer|null])`},
		{`{"properties":{"x":{"type":"array","items":{"type":["string","number"]}},"y":{"type":"array"}}}`,
			`t([x: (string|number)[]], [y: any[]])`},
		{`{"properties":{"x":{},"y":true,"z":{"type":"object"}}}`,
			`t([x: any], [y: any], [z: object])`},
		{`{"properties":{"x":{"$ref":"#/$defs/p"}},"$defs":{"p":{"properties":{"n":{"type":"number"}}}}}`,
			`t([x: {[n: number]}])`},
		{`{"properties":{"x":{"$ref":"#/definitions/a~1b%20c"}},"definitions":{"a/b c":{"type":"string"}}}`,
			`t([x: string])`},
		{`{"properties":{"x":{"$ref":"#/prefixItems/1"}},"prefixItems":[{},{"type":"null"}]}`,
			`t([x: null])`},
		{`{"properties":{"x":{"$ref":"http://example.com/s"},"y":{"$ref":"#anchor"}}}`,
			`t([x: any], [y: any])`},
		{`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"},"a":{}}}]}`,
			`t(a: string, [b: string])`},
		{`{"properties":{"self":{"$ref":"#"}}}`,
			`t([self: {[self: {[self: {[self: {[self: object]}]}]}]}])`},
		{`{"properties":{"a\nb\u001b[31m":{"type":"str\ning"}}}`, `t([a b: str ing])`},
		{`true`, `t()`},
		{`[]`, `t()`},
		{``, `t()`},
		{`{"properties":{"x":{"enum":["` + strings.Repeat("a", 200) + `"]}}}`, `t([x: …])`},
	} {
		assert.Equal(t, signature("t", tt.schema), tt.want, tt.schema)
	}
	assert.Equal(t, signature("evil\n\x1b]0;x\atool", `{}`), `evil tool()`)
}

// A small schema may refer to itself and so have an endless signature, which must be cut.
func TestSchemasThatExplode(t *testing.T) {
	for _, schema := range []string{
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"},"e":{"$ref":"#"},"f":{"$ref":"#"}}}`,
		`{"properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"b":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
		`{"items":{"$ref":"#"},"type":"array"}`,
	} {
		assert.Assert(t, len(signature("t", schema)) < 1<<20, schema)
		_, err := arguments.BuildArguments([]byte("{}"),
			[]arguments.Assignment{{Name: "a.b.c.d", Value: form.Value{Text: "1"}},
				{Name: "x", Value: form.Value{Text: "1"}}}, []byte(schema))
		assert.NilError(t, err)
	}
}

func TestItem(t *testing.T) {
	tool := &mcp.Tool{
		Name: "search", Description: "  Find things.\nIn files.\n\nErrors: none",
		InputSchema: []byte(
			`{"properties":{"pattern":{"type":"string"},"path":{"type":"string"},"case_insensitive":{"type":"boolean"},"max_results":{"type":"integer"}},"required":["pattern"]}`),
	}
	assert.Equal(t, ToolItem(tool).long(printable.NoTerminal),
		`search(pattern: string, [path: string], [case_insensitive: boolean],
        [max_results: integer])
    Find things. In files.
`)
	long := &mcp.Tool{Name: "long", Description: strings.Repeat("word ", 100)}
	lines := strings.Split(strings.TrimSuffix(ToolItem(long).long(printable.NoTerminal), "\n"), "\n")
	assert.Equal(t, len(lines), 1+maxDescription)
	assert.Assert(t, strings.HasSuffix(lines[maxDescription], "word …"))

	assert.Equal(t, ToolItem(&mcp.Tool{Name: "bare"}).long(printable.NoTerminal), "bare()\n")
	assert.Equal(t, ToolItem(&mcp.Tool{Name: "titled", Title: "A title"}).long(printable.NoTerminal),
		"titled()\n    A title\n")
	for visibility, want := range map[string]string{`["app"]`: "t() (not for models)\n",
		`[]`: "t() (not for models)\n", `["app","model"]`: "t()\n", `null`: "t()\n"} {
		ui := mcp.Meta{mcp.MetaUI: []byte(`{"visibility":` + visibility + `}`)}
		shown := ToolItem(&mcp.Tool{Name: "t", Meta: ui}).long(printable.NoTerminal)
		assert.Equal(t, shown, want, visibility)
	}
	assert.Equal(t, ToolItem(&mcp.Tool{Name: "x", Description: "hide\u202ethis\U000E0041"}).long(printable.NoTerminal),
		"x()\n    hide\\u202ethis\\U000e0041\n")
}
