//go:build unix

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
)

// stdwire list shows each server with its file, and its state in the gateway that has it from
// there. stdwire stop stops it.
func TestList(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := ownRuntime(t)
	t.Chdir(dir)
	path := filepath.Join(dir, "servers.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"alpha": good(),
		"beta": obj{"url": "http://ada:hidden@127.0.0.1:1/mcp?key=hidden", "disabled": true}}), 0o600))
	type listed struct {
		ID, State, Transport, URL, Source string
		Command                           []string
		Gateways                          []struct {
			Gateway int
			Tools   *int
		}
	}
	list := func() map[string]listed {
		t.Helper()
		got := run(t, "list", "--config", path, "-o", "json")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, !strings.Contains(got.stdout, "hidden"), got.stdout)
		var all struct{ Servers []listed }
		assert.NilError(t, json.Unmarshal([]byte(got.stdout), &all))
		byID := map[string]listed{}
		for _, s := range all.Servers {
			byID[s.ID] = s
		}
		return byID
	}
	all := list()
	assert.Equal(t, len(all), 2)
	alpha, beta := all["alpha"], all["beta"]
	assert.Equal(t, alpha.State+" "+alpha.Transport, "valid stdio")
	assert.Assert(t, len(alpha.Command) > 0 && alpha.Gateways == nil)
	assert.Assert(t, strings.HasPrefix(alpha.Source, path+":"), alpha.Source)
	assert.Equal(t, beta.State+" "+beta.Transport, "disabled http")
	assert.Assert(t, cmp.Contains(beta.URL, "127.0.0.1:1/mcp"))

	got := run(t, "stop", "alpha")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "no connection and no gateway is running"))
	g := servingFile(t, path)
	serving(t, obj{"alpha": good()}) // of another file
	waitFor(t, func() string {
		s := list()["alpha"]
		if s.State != "ready" || s.Gateways[0].Tools == nil || *s.Gateways[0].Tools != 8 {
			return "alpha is not ready"
		}
		return ""
	})
	assert.Equal(t, len(list()["alpha"].Gateways), 1)
	got = run(t, "list", "--config", path)
	assert.Assert(t, cmp.Regexp(`(?m)^alpha  ready     stdio  .*servers\.json:.* 8 tools, `, got.stdout))
	assert.Assert(t, cmp.Regexp(`(?m)^beta   disabled  http   .*servers\.json:`, got.stdout))

	got = run(t, "disconnect", "alpha")
	assert.Equal(t, got.code, 4, "disconnect stops no server of a gateway")
	assert.Assert(t, cmp.Contains(got.stderr, "there are no connections"))
	assert.Equal(t, list()["alpha"].State, "ready")
	got = run(t, "stop", "alpha", "nobody")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, `no gateway with a server "nobody"`))
	assert.Equal(t, list()["alpha"].State, "ready", "nothing is done if something is wrong")
	assert.Equal(t, run(t, "stop", "alpha").code, 2, "there are two")
	assert.Equal(t, run(t, "stop", "alpha", "--pid", g.pid), ran{0, "", "alpha is stopped until stdwire enable\n"})
	assert.Equal(t, list()["alpha"].State, "disabled")

	t.Chdir(t.TempDir())
	got = run(t, "list")
	assert.Equal(t, got.code, 0)
	assert.Assert(t, cmp.Contains(got.stderr, "no servers are configured; add one"))
	assert.NilError(t, os.WriteFile("mcp.json", []byte("{"), 0o600))
	assert.Equal(t, run(t, "list").code, 8)
}
