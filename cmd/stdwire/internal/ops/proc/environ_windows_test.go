package proc

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// Names are case-insensitive: a variable that is set replaces the inherited one, and two spellings
// are an error.
func TestProcEnvironmentSpellings(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	a := program(t, "environ")
	a["env"] = []string{fixtureEnv + "=1", `pAtH=C:\mine`}
	out := s.rest(t, run[StartOutput](t, s, "proc.start", a).Session).Output
	var paths []string
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, "="); strings.EqualFold(name, "PATH") {
			paths = append(paths, strings.TrimSpace(line))
		}
	}
	assert.DeepEqual(t, paths, []string{`pAtH=C:\mine`})
	a["env"] = []string{"Path=a", "PATH=b"}
	fails(t, s, "proc.start", a, dispatch.InvalidInput, `"PATH" and "Path"`)
}
