package config

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// Trust covers all members of a server. Disabling a server needs no further trust.
func TestTrustDigest(t *testing.T) {
	parse := func(definition, inputs string) *Server {
		source := Source{Path: "/project/mcp.json", Workspace: "/project", Project: true}
		f := Parse(world(nil, nil), source,
			[]byte(`{"servers": {"s": `+definition+`}, "inputs": `+inputs+`}`))
		assert.NilError(t, f.Err())
		return f.Servers[0]
	}
	const input = `[{"id": "key", "description": "the key", "password": true}]`
	for _, tt := range []struct {
		name, definition, inputs string
		changed                  string
		changedInputs            string
	}{
		{"limits", `{"command": "x", "maxResult": 1000}`, `[]`,
			`{"command": "x", "maxResult": 2000}`, `[]`},
		{"filter", `{"command": "x", "tools": {"deny": ["rm"]}}`, `[]`, `{"command": "x"}`, `[]`},
		{"perSession", `{"command": "x", "perSession": true}`, `[]`, `{"command": "x"}`, `[]`},
		{"required", `{"command": "x", "required": true}`, `[]`, `{"command": "x"}`, `[]`},
		{"enabled", `{"command": "x", "disabled": true}`, `[]`, `{"command": "x"}`, `[]`},
		{"what an input asks", `{"command": "x", "args": ["${input:key}"]}`, input,
			`{"command": "x", "args": ["${input:key}"]}`,
			`[{"id": "key", "description": "your root password"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := &Store{filepath.Join(t.TempDir(), "trust.json")}
			assert.NilError(t, st.Trust(parse(tt.definition, tt.inputs)))
			assert.NilError(t, st.Check(parse(tt.definition, tt.inputs)))
			assert.ErrorContains(t, st.Check(parse(tt.changed, tt.changedInputs)),
				"has changed since it was trusted")
		})
	}
	st := &Store{filepath.Join(t.TempDir(), "trust.json")}
	s := parse(`{"command": "${input:key}"}`, input)
	assert.NilError(t, st.Trust(s))
	assert.NilError(t, st.Check(parse(`{"command": "${input:key}", "disabled": true}`, input)))
	assert.Equal(t, s.TrustDigest() == s.Digest(), false)
}
