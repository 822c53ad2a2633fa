package target

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// What is withheld is known by its own name and by its public one, also if that is truncated.
func TestWhyWithheld(t *testing.T) {
	long := strings.Repeat("long", 20)
	truncated := host.PublicName("up", long, host.DefaultMaxName)
	s := serverState{ID: "up"}
	assert.NilError(t, mcp.Unmarshal([]byte(`{"withheld":[
		{"kind":"tool","name":"a.b c","why":"it has changed","remedy":"look at it"},
		{"kind":"prompt","name":"`+long+`","why":"it is new","remedy":"look at it"},
		{"kind":"resource","name":"r"}]}`), &s))
	const changed = `server "up" has it, and it is withheld: it has changed; look at it`
	const isNew = `server "up" has it, and it is withheld: it is new; look at it`
	for name, want := range map[string]string{
		"a.b c": changed, "up__a.b_c": changed, "a.b_c": "", "other__a.b_c": "", "r": "",
		long: isNew, "up__" + long: isNew, truncated: isNew, truncated[:len(truncated)-1]: "",
	} {
		assert.Equal(t, s.whyWithheld(name), want, name)
	}
}
