//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// The profile safe has the server files in the configuration of the user; the file of the project
// adds danger.
const widened = `{"mcpServers": {}, "profiles": {"safe": ["files", "danger"]}}`

// twoServers creates a project without a configuration. Its user has the servers files and danger,
// and the profile safe with files.
func twoServers(t *testing.T) (path string) {
	t.Helper()
	runtime := ownRuntime(t)
	dir := commandtest.Project(t, nil)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	text, err := json.Marshal(
		obj{"mcpServers": obj{"files": good(), "danger": good()},
			"profiles": obj{"safe": []string{"files"}}})
	assert.NilError(t, err)
	own := filepath.Join(os.Getenv("HOME"), ".config", "stdwire")
	assert.NilError(t, os.MkdirAll(own, 0o700))
	assert.NilError(t, os.WriteFile(filepath.Join(own, "mcp.json"), text, 0o600))
	return filepath.Join(dir, "mcp.json")
}

func TestProjectProfileAtStart(t *testing.T) {
	path := twoServers(t)
	assert.NilError(t, os.WriteFile(path, []byte(widened), 0o600))
	self, err := os.Executable()
	assert.NilError(t, err)
	offered := func() (files, danger bool) {
		got := run(t, "tools", "--", self, "serve", "--profile", "safe")
		assert.Equal(t, got.code, 0, got.stderr)
		return strings.Contains(got.stdout, "files__echo("),
			strings.Contains(got.stdout, "danger__echo(")
	}
	files, danger := offered()
	assert.Assert(t, files)
	assert.Assert(t, !danger, "a project's file decides what the user's profile has")
	got := run(t, "config", "check")
	assert.Assert(t,
		cmp.Contains(got.stderr, `warning: `+path+
			`:1:33: the profile "safe" is not used: it would replace the one at `))

	got = run(t, "trust")
	assert.Equal(t, got.code, 7)
	assert.Assert(t,
		cmp.Contains(got.stderr, path+
			":1:33: profile \"safe\" is not trusted\n  servers    files danger\n  elsewhere  danger at "))
	assert.Assert(t, cmp.Contains(got.stderr, "\n  elsewhere  files at "))
	assert.Assert(t, cmp.Contains(got.stderr, "\n  in place of "))
	got = run(t, "trust", "safe", "--yes")
	assert.Equal(t, got.code, 0, got.stderr)
	_, danger = offered()
	assert.Assert(t, danger)
	assert.Equal(t, run(t, "trust", "--revoke"), ran{0, "", "1 profile no longer trusted\n"})
	_, danger = offered()
	assert.Assert(t, !danger)

	// A new profile of the project has no effect either.
	assert.NilError(t,
		os.WriteFile(path, []byte(`{"mcpServers": {}, "profiles": {"all": ["files", "danger"]}}`),
			0o600))
	got = run(t, "serve", "--profile", "all")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, cmp.Contains(got.stderr, `profile "all" is not trusted`))
	assert.Assert(t,
		cmp.Contains(got.stderr, "hint: review its servers, and trust it: stdwire trust all"))
}

func TestProjectProfileAppears(t *testing.T) {
	t.Run("served alone", func(t *testing.T) {
		if commandtest.InOwnProcess(t) {
			return
		}
		path := twoServers(t)
		g := servingHTTP(t, "--profile", "safe")
		assert.NilError(t, os.WriteFile(path, []byte(widened), 0o600))
		assert.Assert(t, cmp.Contains(g.says(`"safe"`), "is not trusted"))
		about, servers := statuses(t, g.pid)
		assert.Equal(t, len(servers), 1)
		assert.Equal(t, about.Waiting[0].Subject+" "+about.Waiting[0].Name, "profile safe")

		got := run(t, "trust", "safe", "--yes")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "gateway "+g.pid+" has accepted safe"))
		about, servers = statuses(t, g.pid)
		assert.Equal(t, len(servers), 1)
		assert.Equal(t, about.Waiting[0].Subject+" "+about.Waiting[0].Name, "server danger",
			"what a profile has is one thing, what is started another")
		got = run(t, "trust", "danger", "--yes")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "  command    "))
		_, servers = statuses(t, g.pid)
		assert.Equal(t, len(servers), 2)
	})
	t.Run("with a server of the user's", func(t *testing.T) {
		if commandtest.InOwnProcess(t) {
			return
		}
		path := twoServers(t)
		g := servingHTTP(t, "--servers", "--no-auth")
		var servers map[string]ops.Status
		waitFor(t, func() string { // the gateway serves while it starts
			if _, servers = statuses(t, g.pid); servers["files"].State != "ready" {
				return "it is still starting"
			}
			return ""
		})
		pid, mark := servers["files"].Pid, filepath.Join(t.TempDir(), "mark")
		assert.NilError(t,
			os.WriteFile(path, []byte(`{"mcpServers": {"files": `+planted(t, mark)+`}}`), 0o600))
		g.says(`server "files" is not trusted, so it is not used instead of your own: see stdwire trust`)
		_, servers = statuses(t, g.pid)
		assert.Equal(t, len(servers), 2)
		assert.Equal(t, servers["files"].Pid, pid, "a file that nobody trusts does not end it")
		assert.Equal(t, started(t, mark), 0)
		got := run(t, "restart", "files")
		assert.Equal(t, got.code, 5)
		assert.Assert(t,
			cmp.Contains(got.stderr,
				`server "files" is not trusted, and waits: stdwire trust files accepts it`))
		got = run(t, "trust", "files", "--yes")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "\n  in place of "))
		waitFor(t, func() string {
			if started(t, mark) == 0 {
				return "trust did not let it in"
			}
			return ""
		})
	})
	t.Run("an endpoint of its own", func(t *testing.T) {
		if commandtest.InOwnProcess(t) {
			return
		}
		path := twoServers(t)
		g := servingHTTP(t, "--servers", "--no-auth")
		about, _ := statuses(t, g.pid)
		danger := func() bool {
			got := run(t, "tools", "--url", about.Endpoint+"/safe")
			assert.Assert(t, cmp.Contains(got.stdout, "files__echo("), got.stderr)
			return strings.Contains(got.stdout, "danger__echo(")
		}
		assert.Assert(t, !danger())
		assert.NilError(t, os.WriteFile(path, []byte(widened), 0o600))
		assert.Assert(t, cmp.Contains(g.says(`"safe"`), "is not trusted"))
		assert.Assert(t, !danger())
		got := run(t, "trust", "safe", "--yes")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, danger())
		assert.NilError(t, os.Remove(path))
		waitFor(t, func() string {
			if danger() {
				return "the file is gone, and its profile is not"
			}
			return ""
		})
	})
}
