package doctor

import (
	"testing"
	"time"

	"github.com/stdwire/stdwire/client"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A tool with a wrong annotation must not be offered over HTTP, and may be elsewhere.
func TestDoctorHeaders(t *testing.T) {
	list := []byte(`[{"name":"a","description":"A.","inputSchema":{"type":"object","properties":{"b":{"type":"object","x-mcp-header":"B"}}}}]`)
	for overHTTP, verdict := range map[bool]string{true: Broke, false: Warns} {
		c := Chart{Verdict: Fine}
		usable := c.tools(list, overHTTP)
		assert.Equal(t, c.Verdict, verdict)
		assert.Equal(t, len(usable) == 0, overHTTP)
	}
}

func TestDoctorTimes(t *testing.T) {
	c := Chart{Verdict: Fine}
	c.slow(9*time.Second, "npx")
	c.ending(&client.ExitError{}, time.Second)
	assert.Equal(t, len(c.Symptoms), 0)
	c.slow(11550*time.Millisecond, "npx")
	assert.Equal(t, c.Symptoms[0].What, "it took 11.6s to start, and many applications wait no longer than 10s")
	assert.Assert(t, cmp.Contains(c.Symptoms[0].Hint, "npx may have downloaded it"))
	c.ending(&client.ExitError{Held: true}, time.Second)
	assert.Assert(t, cmp.Contains(c.Symptoms[1].What, "left a process behind"))
	assert.Equal(t, c.Verdict, Warns)
}
