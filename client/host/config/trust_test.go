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

// Intersect applies restrictions of a new definition but no other changes.
func TestIntersect(t *testing.T) {
	for _, tt := range []struct {
		was, now, want string // want is "" for all of now
	}{
		{`{"command":"x"}`, `{"command":"x"}`, ""},
		{`{"command":"x"}`, `{"command":"x","disabled":true}`, ""},
		{`{"command":"x","disabled":true}`, `{"command":"x"}`, `{"command":"x","disabled":true}`},
		{`{"command":"x"}`, `{"command":"x","tools":{"deny":["rm"]}}`, ""},
		{`{"command":"x"}`, `{"command":"x","tools":{"allow":["read"]}}`, ""},
		{`{"command":"x","tools":{"allow":["read_*"]}}`,
			`{"command":"x","tools":{"allow":["read_a","read_b*"],"deny":["read_bc"]}}`, ""},
		{`{"command":"x","tools":{"deny":["a","b"]}}`, `{"command":"x","tools":{"deny":["b","c"]}}`,
			`{"command":"x","tools":{"deny":["b","c","a"]}}`},
		{`{"command":"x","tools":{"allow":["read_a","write"]}}`,
			`{"command":"x","tools":{"allow":["read_*"]}}`,
			`{"command":"x","tools":{"allow":["read_a"]}}`},
		{`{"command":"x","tools":{"allow":["a"]}}`, `{"command":"x","tools":{"allow":["b"]}}`,
			`{"command":"x","tools":{"allow":[]}}`},
		{`{"command":"x","tools":{"allow":["a"]}}`, `{"command":"x"}`,
			`{"command":"x","tools":{"allow":["a"]}}`},
		{`{"command":"x"}`, `{"command":"y","disabled":true,"tools":{"deny":["rm"]}}`,
			`{"command":"x","disabled":true,"tools":{"deny":["rm"]}}`},
		{`{"command":"x"}`, `{"command":"x","env":{"A":"1"}}`, `{"command":"x"}`},
		{`{"command":"x","perSession":true}`, `{"command":"x"}`,
			`{"command":"x","perSession":true}`},
		{`{"type":"http","url":"http://a"}`, `{"url":"http://a","headers":{"A":"b"}}`,
			`{"type":"http","url":"http://a"}`},
		{`{"type":"http","url":"http://a"}`, `{"url":"http://a","oauth":{"clientId":"me"}}`,
			`{"type":"http","url":"http://a"}`},
	} {
		old, now := projectServer(t, "/project", "s", tt.was),
			projectServer(t, "/project", "s", tt.now)
		result, same := now.Restrict(old)
		assert.Equal(t, same, tt.want == "", tt.now)
		want := tt.want
		if same {
			want = string(now.JSON())
		}
		less := *result
		less.extraFields = nil
		assert.Equal(t, normal(t, string(less.JSON())), normal(t, want))
		again, same := result.Restrict(old)
		assert.Assert(t, same && again == result, "it only takes away")
	}
}

// normal is a definition in one order of its fields.
func normal(t *testing.T, definition string) string {
	return string(projectServer(t, "/project", "s", definition).JSON())
}
