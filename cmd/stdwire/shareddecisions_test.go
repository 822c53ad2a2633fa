//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

// What an operator disables, enables and accepts at one gateway, on its own machine, is so at all
// that share a store, and at one that starts later.
func TestDecisionsReachAllGateways(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	t.Setenv("STATE_KEY", strings.Repeat("k", 32))
	store := redistest.Start(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	server, relist := listServer(t, stockBefore)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": server,
		"b": good("disabled", true)}), 0o600))
	homes := map[*served]string{}
	start := func() *served {
		cmd := exec.Command(self, "serve", "--http", "127.0.0.1:0", "--no-auth", "--config", path,
			"--store", "unix://"+store.Options.Address, "--state-key-env", "STATE_KEY")
		home := t.TempDir()
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home,
			"XDG_CACHE_HOME="+t.TempDir())
		g := servingWith(t, cmd)
		homes[g] = home
		return g
	}
	state := func(g *served, id, want string) {
		t.Helper()
		await(t, g.pid, id, func(s ops.Status) bool {
			return (s.State == "disabled") == (want == "disabled")
		})
	}
	withheld := func(g *served, want int) {
		t.Helper()
		await(t, g.pid, "a", func(s ops.Status) bool { return len(s.Withheld) == want })
	}
	do := func(g *served, args string) {
		t.Helper()
		got := run(t, append(strings.Fields(args), "--pid", g.pid)...)
		assert.Equal(t, got.code, 0, got.stderr)
	}
	one, two := start(), start()
	for _, g := range []*served{one, two} {
		await(t, g.pid, "a", func(s ops.Status) bool { return s.Tools != nil && *s.Tools == 1 })
	}
	do(one, "disable a")
	do(one, "enable b")
	state(two, "a", "disabled")
	state(two, "b", "enabled")
	late := start()
	state(late, "a", "disabled")
	state(late, "b", "enabled")
	do(late, "enable a")
	do(late, "disable b")
	for _, g := range []*served{one, two, late} {
		state(g, "a", "enabled")
		state(g, "b", "disabled")
	}

	await(t, late.pid, "a", func(s ops.Status) bool { return s.Tools != nil && *s.Tools == 1 })
	relist(stockAfter)
	for _, g := range []*served{one, two, late} {
		do(g, "restart a")
		withheld(g, 4)
	}
	t.Setenv("XDG_STATE_HOME", homes[one])
	accepted := run(t, "pin", "accept", "t", "mem://x", "-s", "a", "--config", path)
	assert.Equal(t, accepted.code, 0, accepted.stderr)
	for _, g := range []*served{one, two, late} {
		withheld(g, 2)
	}
	two.says("tool accepted")
	relist(stockBefore) // at its first use here, which counts less than what was accepted
	withheld(start(), 2)
	about, _ := statuses(t, one.pid)
	assert.Check(t, cmp.Contains(about.Store.Parts, "decisions"))
}
