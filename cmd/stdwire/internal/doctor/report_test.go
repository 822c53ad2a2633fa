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
	for overHTTP, verdict := range map[bool]string{true: Broken, false: Warning} {
		c := Report{Verdict: Fine}
		usable := c.checkTools(list, overHTTP)
		assert.Equal(t, c.Verdict, verdict)
		assert.Equal(t, len(usable) == 0, overHTTP)
	}
}

func TestDoctorTimes(t *testing.T) {
	c := Report{Verdict: Fine}
	c.checkStartTime(9*time.Second, "npx")
	c.recordExit(&client.ExitError{}, time.Second)
	assert.Equal(t, len(c.Findings), 0)
	c.checkStartTime(11550*time.Millisecond, "npx")
	assert.Equal(t, c.Findings[0].What,
		"it took 11.6s to start, and many applications wait no longer than 10s")
	assert.Assert(t, cmp.Contains(c.Findings[0].Hint, "npx may have downloaded it"))
	c.recordExit(&client.ExitError{Held: true}, time.Second)
	assert.Assert(t, cmp.Contains(c.Findings[1].What, "left a process behind"))
	assert.Equal(t, c.Verdict, Warning)
}
