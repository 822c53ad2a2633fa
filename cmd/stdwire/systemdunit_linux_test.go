package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
)

// indented returns the indented lines of a page that follow a line with these words, without the
// indentation.
func indented(t *testing.T, page, after string) string {
	t.Helper()
	found, ok := topic.Find(page)
	assert.Assert(t, ok)
	_, text, ok := strings.Cut(found.Text, after+"\n\n  ")
	assert.Assert(t, ok)
	var b strings.Builder
	for line := range strings.Lines("  " + text) {
		inner, ok := strings.CutPrefix(line, "  ")
		if !ok && line != "\n" {
			break
		}
		b.WriteString(inner)
	}
	return b.String()
}

// systemd finds nothing wrong with the units of the page.
func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"stdwire.socket", "stdwire.service"} {
		unit := strings.ReplaceAll(indented(t, "systemd", name), "/usr/local/bin/stdwire", self)
		assert.Assert(t, strings.Contains(unit, "[Install]"), unit)
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(unit), 0o600))
		paths = append(paths, path)
	}
	output, err := exec.Command(analyze, append([]string{"verify", "--man=no"},
		paths...)...).CombinedOutput()
	assert.NilError(t, err, string(output))
	for line := range strings.Lines(string(output)) { // it also complains about the system's own
		assert.Assert(t, !strings.Contains(line, "stdwire"), line)
	}
}

// The gateway understands the flags of the unit, of the Containerfile and of the Deployment.
func TestUnitFlags(t *testing.T) {
	ownRuntime(t)
	t.Setenv("STATE_KEY", strings.Repeat("k", 32))
	service := indented(t, "systemd", "stdwire.service")
	_, line, _ := strings.Cut(service, "ExecStart=/usr/local/bin/stdwire ")
	line, _, _ = strings.Cut(line, "\nExecReload")
	_, container, _ := strings.Cut(indented(t, "container",
		"of CA certificates beside this Containerfile:"), "CMD [")
	container, _, _ = strings.Cut(container, "]")
	_, deployment, _ := strings.Cut(indented(t, "kubernetes", "gateway.yaml"), " args:\n")
	deployment, _, _ = strings.Cut(deployment, " env:\n")
	for _, words := range []string{line, strings.NewReplacer(`"`, "", ",", "").Replace(container),
		strings.ReplaceAll(deployment, " - ", " ")} {
		args := strings.Fields(strings.ReplaceAll(words, "\\\n", " "))
		assert.Equal(t, args[0], "serve")
		got := run(t, append(args, "--help")...)
		assert.Equal(t, got.code, 0, got.stderr)
	}
}
