//go:build linux

package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis/redistest"
)

// everythingServer starts everything-server over HTTP, one process for all runs, and returns its
// endpoint.
func everythingServer(t *testing.T, b *bench) (url string) {
	t.Helper()
	binary, err := everything()
	assert.NilError(t, err)
	server := exec.Command(binary, "-http", "127.0.0.1:0")
	server.Dir = b.dir
	stderr, err := server.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, server.Start())
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	assert.NilError(t, err)
	log := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		log <- string(text)
	}()
	t.Cleanup(func() {
		assert.Check(t, server.Process.Signal(os.Interrupt))
		text := <-log
		assert.Check(t, server.Wait())
		if strings.Contains(text, "panic") || t.Failed() {
			t.Errorf("the server's log:\n%s", text)
		}
	})
	return strings.TrimSpace(line)
}

// suiteProgram is the official suite, in the folder of a bench.
const suiteProgram = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// judged reports the failed checks that the suite has written to a folder, and returns the number
// of checks that have passed.
func judged(t *testing.T, results string) (passed int) {
	t.Helper()
	assert.NilError(t, filepath.WalkDir(results, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		var checks []struct{ ID, Status, ErrorMessage string }
		assert.NilError(t, json.Unmarshal(text, &checks), path)
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE", "WARNING":
				t.Errorf("%s: %s: %s: %s", filepath.Base(filepath.Dir(path)), c.ID, c.Status,
					c.ErrorMessage)
			}
		}
		return nil
	}))
	return passed
}

// skillsIn20251125 returns the arguments for a scenario of the skills extension in a legacy
// revision, which the suite does not intend.
func skillsIn20251125(scenario string) []string {
	return []string{"--scenario", "sep-2640-skills-" + scenario, "--spec-version", "2025-11-25",
		"--force"}
}

// A suiteRun is a run of the official suite.
type suiteRun struct {
	name   string
	args   []string
	passed int // the minimum: the suite is pinned, so fewer means that some were not run
}

// officialSuite runs the suite against a server.
func (b *bench) officialSuite(t *testing.T, url string, run suiteRun) {
	t.Run(run.name, func(t *testing.T) {
		results := b.path("results-" + strings.ReplaceAll(run.name, " ", "-"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join("node_modules", ".bin", "node"),
			append([]string{suiteProgram, "server", "--url", url, "-o", results}, run.args...)...)
		cmd.Dir, cmd.Env = b.dir, b.env
		out, err := cmd.CombinedOutput()
		assert.NilError(t, err, string(out))
		passed := judged(t, results)
		t.Logf("%d checks passed", passed)
		assert.Assert(t, passed >= run.passed, "%d checks passed, and there are %d", passed,
			run.passed)
	})
}

// All server scenarios of the official suite, against one process without a flag for eras: in every
// revision, as the sets of required scenarios, and without a revision, which includes the
// extensions for tasks and skills.
func TestOfficialSuiteOnServer(t *testing.T) {
	b := newNodeBench(t)
	url := everythingServer(t, b)
	for _, run := range []suiteRun{
		{"2025-03-26", []string{"--suite", "all", "--spec-version", "2025-03-26"}, 3},
		{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, 56},
		{"2025-11-25", []string{"--suite", "all", "--spec-version", "2025-11-25"}, 83},
		{"2026-07-28", []string{"--suite", "all", "--spec-version", "2026-07-28"}, 152},
		{"all", []string{"--suite", "all"}, 275},
		{"required by 2025-11-25", []string{"--requirements", "2025-11-25"}, 83},
		{"required by 2026-07-28", []string{"--requirements", "2026-07-28"}, 196},
		{"skills in 2025-11-25", skillsIn20251125("enumeration"), 30},
		{"directories in 2025-11-25", skillsIn20251125("directory"), 7},
		{"files of skills in 2025-11-25", skillsIn20251125("manifest"), 6},
	} {
		b.officialSuite(t, url, run)
	}
}

// The scenarios of both eras have the same results against three servers behind nginx, round robin,
// that share a store.
func TestOfficialSuiteOnReplicas(t *testing.T) {
	t.Parallel()
	b := newNodeBench(t)
	store := redistest.Start(t)
	_, addresses := b.everythingReplicas(3, replicaKey, "STORE=unix://"+store.Options.Address)
	for _, address := range addresses { // what changes the lists of one changes those of all
		for _, tool := range []string{"test_trigger_tool_change", "test_trigger_prompt_change"} {
			changed := postMCP(t, "http://"+address+"/mcp", "",
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`",`+modernMeta+`}}`)
			assert.Equal(t, changed.status, 200, changed.text)
		}
	}
	url, _ := b.balance(addresses...)
	for _, run := range []suiteRun{
		{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, 56},
		{"2025-11-25", []string{"--suite", "all", "--spec-version", "2025-11-25"}, 83},
		{"2026-07-28", []string{"--suite", "all", "--spec-version", "2026-07-28"}, 152},
	} {
		b.officialSuite(t, url, run)
	}
}
