package serve

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
)

// The restrictions of a new definition apply, and no other changes.
func TestRestrict(t *testing.T) {
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
		old, now := projectServer(t, tt.was), projectServer(t, tt.now)
		result, same := restrict(old, now)
		assert.Equal(t, same, tt.want == "", tt.now)
		want := tt.want
		if same {
			want = string(now.JSON())
		}
		assert.Equal(t, normal(t, string(result.JSON())), normal(t, want))
		again, same := restrict(old, result)
		assert.Assert(t, same && again == result, "it only takes away")
	}
}

// normal is a definition in one order of its fields.
func normal(t *testing.T, definition string) string {
	return string(projectServer(t, definition).JSON())
}

func projectServer(t *testing.T, definition string) *config.Server {
	f := config.Parse(new(config.Environment),
		config.Source{Path: "/project/mcp.json", Workspace: "/project", Project: true},
		[]byte(`{"servers": {"s": `+definition+`}}`))
	assert.NilError(t, f.Servers[0].Err)
	return f.Servers[0]
}
