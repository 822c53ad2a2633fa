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

// clientScenarios maps the suite's client scenarios to the minimum number of their checks.
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

	"auth/metadata-default":                     18,
	"auth/metadata-var1":                        18,
	"auth/metadata-var2":                        18,
	"auth/metadata-var3":                        18,
	"auth/basic-cimd":                           12,
	"auth/scope-from-www-authenticate":          14,
	"auth/scope-from-scopes-supported":          14,
	"auth/scope-omitted-when-undefined":         14,
	"auth/scope-step-up":                        22,
	"auth/scope-retry-limit":                    10,
	"auth/token-endpoint-auth-basic":            19,
	"auth/token-endpoint-auth-post":             19,
	"auth/token-endpoint-auth-none":             19,
	"auth/pre-registration":                     12,
	"auth/2025-03-26-oauth-metadata-backcompat": 12,
	"auth/2025-03-26-oauth-endpoint-fallback":   7,
	"auth/resource-mismatch":                    2,
	"auth/offline-access-scope":                 12,
	"auth/offline-access-not-supported":         14,
	"auth/authorization-server-migration":       27,
	"auth/iss-supported":                        14,
	"auth/iss-not-advertised":                   14,
	"auth/iss-supported-missing":                8,
	"auth/iss-wrong-issuer":                     8,
	"auth/iss-unexpected":                       8,
	"auth/iss-normalized":                       8,
	"auth/metadata-issuer-mismatch":             3,
	"auth/client-credentials-jwt":               9,
	"auth/client-credentials-basic":             9,
	"auth/enterprise-managed-authorization":     10,
	"auth/dpop":                                 12,
	"auth/dpop-nonce":                           14,
	"auth/wif-jwt-bearer":                       9,

	"sep-2640-client-no-prefetch":        1,
	"sep-2640-client-verify-digest":      1,
	"sep-2640-client-verify-size":        1,
	"sep-2640-client-verify-frontmatter": 1,
}

// The official suite's client scenarios, in every revision that they apply to and without one, with
// a client that detects the revision, and with one that is configured with it. Each has a separate
// run: only then does the suite check that a client exits, and mostly how.
func TestOfficialSuiteOnClient(t *testing.T) {
	revisions := scenariosOf(t, newNodeBench(t))
	assert.DeepEqual(t, slices.Sorted(maps.Keys(revisions)),
		slices.Sorted(maps.Keys(clientScenarios)))
	binary, err := everythingClient()
	assert.NilError(t, err)
	for scenario, checks := range clientScenarios {
		for _, revision := range append(revisions[scenario], "") {
			for _, told := range []string{"", " -told"} {
				if revision == "" &&
					(told != "" || strings.HasPrefix(scenario, "auth/") &&
						revisions[scenario] != nil) {
					continue // the suite chooses one of the others
				}
				t.Run(scenario+" "+revision+told, func(t *testing.T) {
					t.Parallel()
					b := newNodeBench(t)
					run := []string{"node", suiteProgram, "client", "--command", binary + told,
						"--scenario", scenario, "-o", b.path("results")}
					if revision != "" {
						run = append(run, "--spec-version", revision)
					}
					o := b.run(run...)
					passed := judged(t, b.path("results"))
					assert.Equal(t, o.code, 0, "%v", o)
					assert.Assert(t, passed >= checks, "%d checks passed, and there are %d: %v",
						passed, checks, o)
					t.Logf("%d checks passed", passed)
					// the name of a scenario may have a folder in it
					said, err := filepath.Glob(
						b.path("results/" + filepath.Dir(scenario) + "/*/stdout.txt"))
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

// scenariosOf returns the suite's client scenarios, with the revisions that each applies to.
func scenariosOf(t *testing.T, b *bench) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for line := range strings.Lines(b.must("node", suiteProgram, "list", "--client").stdout) {
		line, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		name, revisions, versioned := strings.Cut(strings.TrimSuffix(line, "]"), " [")
		if !listed {
			continue
		}
		assert.Assert(t, versioned, line)
		all[name] = nil
		if revisions != "extension" { // an extension belongs to no revision
			all[name] = strings.Split(revisions, ",")
		}
	}
	return all
}
