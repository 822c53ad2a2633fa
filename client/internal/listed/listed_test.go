package listed

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestOutputsAreBounded(t *testing.T) {
	var o Outputs
	schema := `{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`
	for i := range 100 {
		o.Learn(tools(t,
			fmt.Sprintf(`[{"name":"big%d","inputSchema":{},"outputSchema":%s},{"name":"small%d","inputSchema":{}}]`,
				i, schema, i)))
	}
	assert.Assert(t, o.bytes <= maxOutputBytes && o.bytes > maxOutputBytes/2)
	assert.Equal(t, len(o.tools), 100+15)
	for i := range 100 { // smaller schemas fit into the same memory
		o.Learn(tools(t, fmt.Sprintf(`[{"name":"big%d","inputSchema":{},"outputSchema":{}}]`, i)))
	}
	assert.Equal(t, o.bytes, 200)
	many := make([]string, 2*maxOutputs)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i)
	}
	o.Learn(tools(t, "["+strings.Join(many, ",")+"]"))
	assert.Equal(t, len(o.tools), maxOutputs)
}

// tools decodes a list of tools.
func tools(t *testing.T, text string) (all []*mcp.Tool) {
	t.Helper()
	assert.NilError(t, json.Unmarshal([]byte(text), &all))
	return all
}

// Check tells a result that does not match from one that cannot be checked.
func TestCheck(t *testing.T) {
	var o Outputs
	o.Learn(tools(t, `[{"name":"n","inputSchema":{},"outputSchema":{"type":"object","required":["n"]}},
		{"name":"bad","inputSchema":{},"outputSchema":{"type":7}},{"name":"none","inputSchema":{}}]`))
	n, _ := o.Tool("n")
	for result, want := range map[string]string{`{"structuredContent":{"n":1}}`: "",
		`{"structuredContent":{}}`: `"n"`, `{}`: "there is no structuredContent"} {
		misfit, err := n.Check([]byte(result))
		assert.NilError(t, err)
		if want == "" {
			assert.NilError(t, misfit)
		} else {
			assert.ErrorContains(t, misfit, want)
		}
	}
	assert.Assert(t, o.FirstWarning(n))
	assert.Assert(t, !o.FirstWarning(n))
	bad, _ := o.Tool("bad")
	misfit, err := bad.Check([]byte(`{}`))
	assert.NilError(t, misfit)
	assert.ErrorContains(t, err, "cannot be checked")
	none, known := o.Tool("none")
	assert.Assert(t, none == nil && known)
	_, known = o.Tool("other")
	assert.Assert(t, !known)
}

// Tools with an invalid annotation are not usable, and reported once.
func TestHeaders(t *testing.T) {
	var none *Headers
	assert.Assert(t, none.Tool("x").Params == nil)
	var h Headers
	all := tools(t, `[{"name":"ok","inputSchema":{"type":"object","properties":{"a":{"type":"string",
		"x-mcp-header":"A"}}}},{"name":"bad","inputSchema":{"type":"object","properties":{"a":{
		"type":"string","x-mcp-header":""}}}},{"name":"plain","inputSchema":{"type":"object"}}]`)
	assert.DeepEqual(t, h.Learn(all), []string{"bad"})
	assert.Equal(t, len(h.Learn(all)), 0)
	assert.Equal(t, len(h.Tool("ok").Params), 1)
	assert.Equal(t, len(h.Usable(all)), 2)
}

// Tools that do not say so do not support tasks; those that are not listed may.
func TestTaskSupports(t *testing.T) {
	var s TaskSupports
	s.Learn(tools(t, `[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{},
		"execution":{"taskSupport":"required"}}]`))
	assert.Equal(t, s.Of("a"), mcp.TaskForbidden)
	assert.Equal(t, s.Of("b"), mcp.TaskRequired)
	assert.Equal(t, s.Of("c"), mcp.TaskSupport(""))
}
