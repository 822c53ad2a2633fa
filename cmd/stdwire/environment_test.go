package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A command that the user types gets the whole environment, as from a shell. A configured server
// gets the variables of --env, also one of a trusted project, whose file gives it no more.
func TestEnvironmentOfAServer(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	server, err := os.Executable()
	assert.NilError(t, err)
	t.Setenv("VALUE", "from the environment")
	file := filepath.Join(t.TempDir(), "values")
	entry := configured(t, string(configText(t, obj{"value": obj{"command": server,
		"args": []string{"fixture:value", file}}})))
	own := []string{"tools", "--root", t.TempDir()}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append([]string{"tools"}, fixture("value", file)...), "from the environment"},
		{append([]string{"doctor"}, fixture("value", file)...), "from the environment"},
		{append([]string{"tools", "--env", "VALUE=set"}, fixture("value", file)...), "set"},
		{[]string{"tools", "-s", "value", "--config", entry}, ""},
		{[]string{"tools", "-s", "value", "--config", entry, "--env", "VALUE"}, "from the environment"},
		{[]string{"tools", "-s", "value", "--config", entry, "--env", "VALUE="}, ""},
		{[]string{"tools", "-s", "value", "--config", entry, "--env", "VALUE=a=b", "--env", "X=y"}, "a=b"},
	} {
		assert.NilError(t, os.RemoveAll(file))
		got := run(t, c.args...)
		assert.Equal(t, got.code, 0, "%q: %s", c.args, got.stderr)
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		assert.Equal(t, string(text), c.want+"\n", "%q", c.args)
	}
	assert.Equal(t, run(t, append(own, "--env", "X=y")...).code, 0)

	got := run(t, append(own, "--env", "NOT_SET_ANYWHERE")...)
	assert.Equal(t, got, ran{2, "", "stdwire: tools: --env: the environment variable NOT_SET_ANYWHERE is not set\nhint: set it, or give a value: --env NOT_SET_ANYWHERE=VALUE\n"})
	got = run(t, "tools", "--env", "X=secret", "--url", "http://127.0.0.1:1/mcp")
	assert.Equal(t, got.code, 2)
	assert.Equal(t, lastLine(strings.Split(got.stderr, "\nhint")[0]), "stdwire: tools: --env is for servers that are started here")
	got = run(t, append([]string{"tools", "--env", "A=B\x00secret"}, fixture("good")...)...)
	assert.Equal(t, got.code, 4)
	assert.Assert(t, !strings.Contains(got.stderr, "secret"), got.stderr)
}

// A file of a project does not get more of the environment than the list, even if it is trusted.
func TestEnvironmentOfAProject(t *testing.T) {
	server, err := os.Executable()
	assert.NilError(t, err)
	t.Setenv("VALUE", "secret")
	file := filepath.Join(t.TempDir(), "values")
	commandtest.Project(t, map[string]string{".mcp.json": string(configText(t, obj{"value": obj{"command": server,
		"args": []string{"fixture:value", file}}}))})
	assert.Equal(t, run(t, "tools", "-s", "value", "--env", "VALUE").code, 7, "it is not trusted")
	assert.Equal(t, run(t, "trust", "--yes").code, 0)
	got := run(t, "tools", "-s", "value")
	assert.Equal(t, got.code, 0, got.stderr)
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "\n")
}

// A failed start says how many variables the server did not get, and names none.
func TestWithheldVariables(t *testing.T) {
	server, err := os.Executable()
	assert.NilError(t, err)
	t.Setenv("WITHHELD_NAME", "withheld value")
	path := configured(t, string(configText(t, obj{
		"crash": obj{"command": server, "args": []string{"fixture:crash"}},
		"usage": obj{"command": server, "args": []string{"-no-such-flag"}},
		"all":   obj{"command": server, "args": []string{"fixture:crash"}, "inheritEnv": true}})))
	const says = ` variables? of your environment did not reach it: `
	got := run(t, "tools", "-s", "crash", "--config", path)
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Regexp(`\d+`+says+`--env NAME passes one on, as does "inheritEnv"`, got.stderr))
	assert.Assert(t, !strings.Contains(strings.ToLower(got.stderr), "withheld"), got.stderr)
	for _, args := range [][]string{{"tools", "-s", "all", "--config", path},
		append([]string{"tools"}, fixture("crash")...)} {
		got := run(t, args...)
		assert.Equal(t, got.code, 4)
		assert.Assert(t, !strings.Contains(got.stderr, "did not reach it"), got.stderr)
	}
	got = run(t, "doctor", "crash", "--config", path)
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Regexp(`\d+`+says+`"inheritEnv"`,
		strings.Join(strings.Fields(got.stdout), " ")))
	got = run(t, "doctor", "usage", "--config", path)
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Contains(got.stdout, "exited with status 2"))
	assert.Assert(t, !strings.Contains(got.stdout, "did not reach it"), got.stdout)
}
