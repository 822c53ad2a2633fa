package doctor

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
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
