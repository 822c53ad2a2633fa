package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// A changed configuration file takes effect at once where it removes something. What it adds waits
// for the operator, and existing servers keep running.
func TestReloadOnlyRemoves(t *testing.T) {
	m, path := newConfig(t,
		obj{"a": good("tools", obj{"deny": []string{"die"}}), "b": good(),
			"c": good("disabled", true), "d": good()})
	st := newStand(t, m, path)
	st.expectServers("a b d")
	a, b := st.pid("a"), st.pid("b")
	waiting := func() string {
		var all []string
		for _, w := range st.About().Waiting {
			assert.Equal(t, w.Definition, "", "it may be secret")
			all = append(all, w.Subject+" "+w.Name+" "+w.Why)
		}
		return strings.Join(all, ", ")
	}
	follow := func(servers obj) {
		t.Helper()
		st.write(configText(t, servers))
		for range 2 {
			st.fileChanged()
		}
	}
	follow(obj{"a": good(), "b": good("env", obj{"X": "1"}), "c": good(),
		"d": good("tools", obj{"deny": []string{"echo"}}), "e": good()})
	st.expectServers("a b") // d no longer has the tool echo
	assert.Equal(t, waiting(), "server a changed, server b changed, server c changed, server e new")
	assert.Equal(t, st.pid("a"), a)
	assert.Equal(t, st.pid("b"), b)
	for tool, err := range st.c.Tools(t.Context()) {
		assert.NilError(t, err)
		assert.Assert(t, tool.Name != "a__die", "it is still denied")
	}
	told := st.stderr.Take()
	assert.Equal(t, strings.Count(told,
		`server "e" is new, and waits: stdwire trust e or stdwire restart e accepts it, `+
			command.AcceptsAllChanges+` all waiting changes`), 1, "once: %s", told)
	assert.Assert(t, cmp.Contains(told, "stdwire: the configuration has changed: changed d\n"))

	// A file does not restore what was removed.
	follow(obj{"a": good("tools", obj{"deny": []string{"die"}}), "b": good("disabled", true),
		"d": good()})
	st.expectServers("a")
	assert.Equal(t, waiting(), "server d changed")
	follow(obj{"a": good("tools", obj{"deny": []string{"die"}}), "b": good(),
		"c": good("disabled", true), "d": good()})
	st.expectServers("a")
	assert.Equal(t, waiting(), "server b changed, server c new, server d changed")
	assert.Equal(t, st.pid("a"), a)

	// Accept one server, then all.
	one := ops.Release{Subject: ops.PendingServer, Name: "b", SHA256: strings.Repeat("0", 64)}
	assert.ErrorContains(t, st.Accept(t.Context(), one), "has changed since it was shown")
	st.expectServers("a")
	one.SHA256 = st.About().Waiting[0].SHA256
	assert.NilError(t, st.Accept(t.Context(), one))
	st.expectServers("a b")
	assert.Equal(t, waiting(), "server c new, server d changed")
	st.reload()
	st.expectServers("a b d")
	assert.Equal(t, waiting(), "")
}

// The values of an envFile wait for the operator as well.
func TestReloadOfAnEnvironmentFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".env")
	write := func(text string) { assert.NilError(t, os.WriteFile(file, []byte(text), 0o600)) }
	mark := filepath.Join(t.TempDir(), "mark")
	write("VALUE=first\n")
	self, err := os.Executable()
	assert.NilError(t, err)
	m, path := newConfig(t,
		obj{"a": obj{"command": self, "args": []string{"fixture:value", mark}, "envFile": file}})
	st := newStand(t, m, path)
	st.expectServers("a")
	values := func() string {
		text, err := os.ReadFile(mark)
		assert.NilError(t, err)
		// once or twice: a server may be started again for another era
		lines := strings.Fields(string(text))
		return strings.Join(slices.Compact(lines), " ")
	}
	assert.Assert(t, slices.Contains(st.Files(), file), "it is watched")
	write("VALUE=second\n")
	st.fileChanged()
	assert.Equal(t, st.About().Waiting[0].Why, gatewaytext.WaitsForItsEnvFile)
	assert.NilError(t, st.Gateway.Manager().Restart("a")) // as a client does
	st.Gateway.Settle(t.Context())
	_, err = st.c.CallTool(t.Context(), "a__echo", obj{"text": "x"})
	assert.NilError(t, err)
	assert.Equal(t, values(), "first")
	assert.NilError(t, st.Accept(t.Context(), ops.Release{Subject: ops.PendingServer, Name: "a"}))
	_, err = st.c.CallTool(t.Context(), "a__echo", obj{"text": "x"})
	assert.NilError(t, err)
	assert.Equal(t, values(), "first second")
	assert.Equal(t, len(st.About().Waiting), 0)
}
