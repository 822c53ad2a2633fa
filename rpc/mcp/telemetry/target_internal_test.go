package telemetry

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// What a header repeats as the name of a request's subject is its target, except for tasks, for
// which the conventions have no attribute.
func TestTargets(t *testing.T) {
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			if m.NameParam != "" && m.NameParam != "taskId" {
				assert.Check(t, targetOf(m.Name).param == m.NameParam,
					"what does %s name? See targetOf", m.Name)
			}
		}
	}
}
