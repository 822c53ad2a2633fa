package doctor

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Tools that a host or a model provider refuses are named.
func TestDoctorUnportableTools(t *testing.T) {
	long := strings.Repeat("n", 65)
	for definition, want := range map[string]string{
		`{"name":"` + long + `","description":"A.","inputSchema":{"type":"object"}}`:                      "tools whose names are longer than 64 bytes: " + long,
		`{"name":"a","description":"A.","inputSchema":{"type":"object","properties":{"$f":{}}}}`:          "tools with properties that model providers refuse: a ($f)",
		`{"name":"a","description":"A.","inputSchema":{}}`:                                                `tools whose inputSchema does not say "type": "object": a`,
		`{"name":"a","description":"A.","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`: `tools whose outputSchema does not say "type": "object": a`,
		`{"name":"a","description":"A.","inputSchema":{"type":"object","required":null}}`:                 "tools whose inputSchema is not a JSON Schema: a (",
		`{"name":"a","description":"A.","inputSchema":{"type":"object","properties":{"f.g-1_":{}}}}`:      "",
	} {
		c := Report{Verdict: Fine}
		c.checkTools([]byte("["+definition+"]"), false)
		if want == "" {
			assert.Equal(t, len(c.Findings), 0, "%v", c.Findings)
			continue
		}
		assert.Equal(t, len(c.Findings), 1, "%v", c.Findings)
		assert.Assert(t, strings.HasPrefix(c.Findings[0].What, want), c.Findings[0].What)
	}
}

// A definition that cannot be decoded is named, and the others are judged without it.
func TestDoctorUnreadableDefinitions(t *testing.T) {
	r := Report{Verdict: Fine}
	kept := r.checkTools([]byte(`[{"name":"a","description":"A.","inputSchema":{"type":"object"}},`+
		`{"name":"b","description":7,"inputSchema":{"type":"object"}}]`), false)
	assert.Equal(t, len(kept), 1)
	assert.Equal(t, *r.Tools, 2)
	assert.Equal(t, r.Verdict, Warning)
	assert.Equal(t, len(r.Findings), 1, "%v", r.Findings)
	assert.Assert(t, strings.HasPrefix(r.Findings[0].What,
		`tools that cannot be decoded: number 2 "b" (`), r.Findings[0].What)

	r = Report{Verdict: Fine}
	assert.Equal(t, len(r.checkTools([]byte(`[{"name":"b","description":7}]`), false)), 0)
	assert.Equal(t, r.Verdict, Broken)

	for kind, list := range map[mcp.Kind]string{
		mcp.KindPrompt:           `[{"name":"a"},{"name":"b","arguments":{}}]`,
		mcp.KindResource:         `[{"uri":"a:1","name":"a"},{"uri":"b:1","name":"b","size":"7"}]`,
		mcp.KindResourceTemplate: `[{"uriTemplate":"a:{x}","name":"a"},{"uriTemplate":[],"name":"b"}]`,
	} {
		r := Report{Verdict: Fine}
		assert.Equal(t, len(r.readable(kind.Info().Short+"s", []byte(list), decoders[kind])), 1)
		assert.Equal(t, r.Verdict, Warning, kind)
		assert.Assert(t, strings.HasPrefix(r.Findings[0].What,
			kind.Info().Short+`s that cannot be decoded: number 2 "b" (`), r.Findings[0].What)
	}
}
