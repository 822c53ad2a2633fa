//go:build linux

package conformance_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// clientScenarios are the suite's client scenarios, but for those of authorization and of the skills extension, and how many checks each has at least.
var clientScenarios = map[string]int{
	"initialize":                          1,
	"tools_call":                          2,
	"elicitation-sep1034-client-defaults": 5,
	"sse-retry":                           3,
	"json-schema-2020-12-preservation":    9,
	"request-metadata":                    8,
	"sep-2322-client-request-state":       5,
	"http-standard-headers":               9,
	"http-custom-headers":                 18,
	"http-invalid-tool-headers":           12,
	"json-schema-ref-no-deref":            1,
}

// The official suite's client scenarios, in every revision that they are for and by themselves, with a client that finds out what the server speaks, and with one that is
// told. Each has a run of its own: only so does the suite mind that a client ends, and mostly how.
func TestOfficialSuiteOnClient(t *testing.T) {
	revisions := scenariosOf(t, newNodeBench(t))
	assert.DeepEqual(t, slices.Sorted(maps.Keys(revisions)), slices.Sorted(maps.Keys(clientScenarios)))
	binary, err := everythingClient()
	assert.NilError(t, err)
	for scenario, checks := range clientScenarios {
		for _, revision := range append(revisions[scenario], "") {
			for _, told := range []string{"", " -told"} {
				if revision == "" && told != "" {
					continue // the suite chooses one of the others
				}
				t.Run(scenario+" "+revision+told, func(t *testing.T) {
					t.Parallel()
					b := newNodeBench(t)
					run := []string{"node", suiteProgram, "client", "--command", binary + told, "--scenario", scenario, "-o", b.path("results")}
					if revision != "" {
						run = append(run, "--spec-version", revision)
					}
					o := b.run(run...)
					passed := judged(t, b.path("results"))
					assert.Equal(t, o.code, 0, "%v", o)
					assert.Assert(t, passed >= checks, "%d checks passed, and there are %d: %v", passed, checks, o)
					said, err := filepath.Glob(b.path("results/*/stdout.txt"))
					assert.NilError(t, err)
					assert.Equal(t, len(said), 1)
					text, err := os.ReadFile(said[0])
					assert.NilError(t, err)
					assert.Equal(t, string(text), "done\n", "%v", o)
				})
			}
		}
	}
}

// scenariosOf asks the suite for its client scenarios, and which revisions each is for.
func scenariosOf(t *testing.T, b *bench) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for line := range strings.Lines(b.must("node", suiteProgram, "list", "--client").stdout) {
		line, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		name, revisions, versioned := strings.Cut(strings.TrimSuffix(line, "]"), " [")
		if !listed || strings.HasPrefix(name, "auth/") || strings.HasPrefix(name, "sep-2640-client-") {
			continue
		}
		assert.Assert(t, versioned, line)
		all[name] = strings.Split(revisions, ",")
	}
	return all
}
