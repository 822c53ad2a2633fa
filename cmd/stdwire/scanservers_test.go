package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

// The servers of a configuration are scanned together; one that does not start does not prevent the
// others.
func TestScanServers(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ"
	path := configured(t, `{"mcpServers": {
		"files": {"command": "SELF", "args": ["fixture:faulty", "tool=read_file"]}, "other": {"command": "SELF", "args": ["fixture:faulty", "tool=read_file"], "env": {"KEY": "${NOT_A_SECRET:-x}"}},
		"gone": {"command": "no-such-program-anywhere", "env": {"TOKEN": "`+token+`"}}, "unset": {"command": "SELF", "env": {"T": "${NOT_SET_ANYWHERE}"}}, "off": {"command": "SELF", "disabled": true}, "nothing": {}},
		"profiles": {"two": ["files", "other"], "one": ["other"], "none": ["off"]}}`)
	findings := func(args ...string) (got ran, places []string, s output.ScanSummary) {
		t.Helper()
		got = run(t, append(strings.Fields("scan -o json --fail-on never --config "+path),
			args...)...)
		var document struct {
			Findings []scan.Finding
			Summary  output.ScanSummary
		}
		assert.NilError(t, json.Unmarshal([]byte(got.stdout), &document), got.stderr)
		for _, f := range document.Findings {
			places = append(places, f.Rule+" "+f.Server)
			for _, related := range f.Related {
				places = append(places, f.Rule+" "+f.Server+" "+related.Server)
			}
		}
		return got, places, document.Summary
	}
	for _, flags := range [][]string{nil, {"--servers"}} {
		got, places, summary := findings(flags...)
		assert.Equal(t, got.code, 4, "not all were seen")
		assert.DeepEqual(t, places,
			[]string{"secret-in-config gone", "same-name other", "same-name other files"})
		assert.Equal(t, summary.Tools, 2)
		for _, told := range []string{
			`error: ` + path + `:`,
			`warning: gone: start: cannot start "no-such-program-anywhere": `,
			`server "unset": env.T: ${NOT_SET_ANYWHERE} is not set`,
			`"message":"scan: 3 servers not scanned"`,
		} {
			assert.Assert(t, cmp.Contains(got.stderr, told))
		}
		assert.Assert(t, !strings.Contains(got.stdout+got.stderr, token))
	}
	got, places, _ := findings("--profile", "two")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.DeepEqual(t, places, []string{"same-name other", "same-name other files"})
	got, places, summary := findings("--profile", "one")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, len(places)+summary.Servers, 1)
	_, _, summary = findings("--profile", "none")
	assert.Equal(t, summary.Servers, 0)

	// Findings take precedence over servers that were not scanned; the configuration of a single
	// server is scanned, too.
	got = run(t, strings.Fields("scan --fail-on medium --config "+path)...)
	assert.Equal(t, got.code, 10)
	got = run(t, strings.Fields("scan --fail-on medium -s other --config "+path)...)
	assert.Equal(t, got, ran{0, "no findings in 1 tool of 1 server\n", ""})
	secret := configured(t,
		`{"mcpServers": {"a": {"command": "SELF", "args": ["fixture:faulty"], "env": {"TOKEN": "`+
			token+`"}}}}`)
	got = run(t, strings.Fields("scan --fail-on medium -s a --config "+secret)...)
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Contains(got.stdout, "secret-in-config: config, env.TOKEN"))
}

func TestScanServersTrust(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	withServers(t, `{"touch": {"command": "SELF", "args": ["fixture:touch", "`+
		filepath.ToSlash(mark)+`"]}}`)
	got := run(t, "scan", "--servers")
	assert.Equal(t, got.code, 4)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			`server "touch" is not trusted: its definitions were not scanned`))
	assert.Assert(t, cmp.Contains(got.stderr, "stdwire trust touch"))
	_, err := os.Stat(mark)
	assert.Assert(t, os.IsNotExist(err), "it was not started")

	commandtest.Project(t, nil)
	assert.Equal(t, run(t, "scan", "--servers"),
		ran{0, "no findings in nothing of 0 servers\n", target.NothingConfigured + "\n"})
}

func TestScanServersUsage(t *testing.T) {
	for args, stderr := range map[string]string{
		"scan --servers -- x":                "stdwire: scan: the servers of the configuration cannot be combined with another server\n",
		"scan --profile p -s a":              "stdwire: scan: the servers of the configuration cannot be combined with another server\n",
		"scan --servers --write":             "stdwire: scan: --write is for stdwire's own server\n",
		"scan --servers --server-logs":       "stdwire: scan: --server-logs is for one server\n",
		"scan --config x -- y":               "stdwire: scan: --config is for a server of the configuration\n",
		"scan --profile no-such-profile-any": `stdwire: scan: there is no profile "no-such-profile-any"`,
	} {
		commandtest.Project(t, nil)
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stderr, stderr), got.stderr)
	}
}
