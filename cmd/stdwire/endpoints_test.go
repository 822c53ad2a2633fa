//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A listener is stdwire in its own process, serving HTTP.
type listener struct {
	cmd    *exec.Cmd
	url    string
	stderr chan string // lines; closed at the end
}

// listen starts a listener and waits until it serves. before is what it printed until then.
func listen(t *testing.T, args ...string) (l *listener, before []string) {
	t.Helper()
	if !slices.ContainsFunc(args,
		func(arg string) bool { return strings.HasPrefix(arg, "--http=") }) {
		args = slices.Insert(args, 1, "--http=127.0.0.1:0")
	}
	cmd, _, _ := stdwire(t, args...)
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	l = &listener{cmd: cmd, stderr: make(chan string, 1000)}
	go func() {
		defer close(l.stderr)
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			l.stderr <- strings.TrimSuffix(line, "\n")
		}
	}()
	for line := range l.stderr {
		before = append(before, line)
		if _, url, ok := strings.Cut(line, "serving MCP at "); ok {
			l.url, _, _ = strings.Cut(url, ",")
			return l, before
		}
	}
	t.Fatalf("it serves nothing: %q", before)
	return nil, nil
}

// end stops the listener with SIGINT.
func (l *listener) end(t *testing.T) {
	t.Helper()
	assert.NilError(t, l.cmd.Process.Signal(os.Interrupt))
	assert.Equal(t, exitCode(l.cmd.Wait()), 0)
}

// counted returns the configuration of a server that appends a line to a file at each start.
func counted(t *testing.T, file string, args ...string) map[string]any {
	self, err := os.Executable()
	assert.NilError(t, err)
	return map[string]any{"command": "sh",
		"args": append([]string{"-c", `echo "$$" >> "$0"; exec "$@"`, file, self}, args...)}
}

// Each profile has its own endpoint for clients of both eras; all share the same processes.
func TestServeProfiles(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	dir := t.TempDir()
	starts := filepath.Join(dir, "starts")
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"hand": counted(t, starts, "fixture:good"),
			"lib": counted(t, starts, "fixture:library")},
		"profiles": map[string]any{"hands": []string{"hand"}, "books": []string{"lib"},
			"a.b_c": []string{"hand", "lib"}, "empty": []string{}},
	})
	assert.NilError(t, err)
	path := filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	l, before := listen(t, "serve", "--no-auth", "--config", path)
	isLog := func(line string) bool { // of a server that starts, which may come at any time
		return strings.Contains(line, "are checked by its server only") ||
			strings.Contains(line, "a server has started")
	}
	before = slices.DeleteFunc(before, isLog)
	assert.Equal(t, len(before), 1, before)
	for _, name := range []string{"a.b_c", "books", "empty", "hands"} {
		line := <-l.stderr
		for isLog(line) {
			line = <-l.stderr
		}
		assert.Equal(t, line, "stdwire: serving the profile "+name+" at "+l.url+"/"+name)
	}
	for _, era := range []string{"modern", "legacy"} {
		for endpoint, has := range map[string]struct{ hand, lib, own bool }{"": {true, true, true},
			"/hands": {hand: true}, "/books": {lib: true}, "/a.b_c": {true, true, false},
			"/empty": {}} {
			got := run(t, "tools", "--url", l.url+endpoint, "--era", era)
			assert.Equal(t, got.code, 0, got.stderr)
			assert.Equal(t, strings.Contains(got.stdout, "hand__echo("), has.hand, got.stdout)
			assert.Equal(t, strings.Contains(got.stdout, "lib__picture("), has.lib, got.stdout)
			assert.Equal(t, strings.Contains(got.stdout, "host_status("), has.own, got.stdout)
			got = run(t, "call", "hand__echo", "text=x", "--url", l.url+endpoint, "--era", era)
			assert.Equal(t, got.code == 0, has.hand, got.stderr)
			got = run(t, "read", "file:///logo.png", "--url", l.url+endpoint, "--era", era)
			assert.Equal(t, got.code == 0, has.lib, got.stderr)
		}
	}
	got := run(t, "tools", "--url", l.url+"/none")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "the profile does not exist: all servers are at /mcp"))
	response, err := http.Get(strings.TrimSuffix(l.url, "/mcp") + "/v1/openapi.json")
	assert.NilError(t, err)
	document, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	response.Body.Close()
	assert.Assert(t, cmp.Contains(string(document), "/v1/host"))

	lines, err := os.ReadFile(starts)
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(lines), "\n"), 2, "one process for each server")
	l.end(t)

	l, before = listen(t, "serve", "--no-auth", "--config", path, "--profile", "books")
	assert.Equal(t, len(before), 1, before)
	got = run(t, "tools", "--url", l.url)
	assert.Assert(t, strings.Contains(got.stdout, "lib__picture(") &&
		!strings.Contains(got.stdout, "hand__"), got.stdout)
	got = run(t, "tools", "--url", l.url+"/books")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, strings.Contains(got.stderr, "404 Not Found") &&
		!strings.Contains(got.stderr, "profile"), got.stderr)
	l.end(t)
}

// A client of a profile is notified of changes of its servers only.
func TestProfilesChange(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	t.Setenv("STDWIRE_TEST_TOKEN", "a token that nobody guesses")
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"hand": counted(t, "/dev/null", "fixture:good"),
			"lib": counted(t, "/dev/null", "fixture:library")},
		"profiles": map[string]any{"hands": []string{"hand"}, "all": []string{"hand", "lib"}},
	})
	assert.NilError(t, err)
	path := filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	l, _ := listen(t, "serve", "--token-env", "STDWIRE_TEST_TOKEN", "--config", path,
		"--allow-host")
	assert.Equal(t, run(t, "tools", "--url", l.url+"/hands").code, 3, "profiles want the token too")
	got := run(t, "tools", "--url", l.url, "--header",
		"Authorization: Bearer "+os.Getenv("STDWIRE_TEST_TOKEN")) // lists wait for the servers
	assert.Equal(t, got.code, 0, got.stderr)
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		open := func(profile string) (c *client.Client, changes chan int, updates chan string) {
			changes, updates = make(chan int, 100), make(chan string, 100)
			o := client.Options{Era: era, OnToolsChanged: func(tools []*mcp.Tool, _ error) {
				changes <- len(tools)
			}, OnResourceUpdated: func(uri string) { updates <- uri }}
			header := http.Header{"Authorization": {"Bearer " + os.Getenv("STDWIRE_TEST_TOKEN")}}
			c, err := o.Connect(t.Context(), streamable.Options{Header: header}.Dial(l.url+profile))
			assert.NilError(t, err)
			// a legacy server announces nothing before notifications/initialized has arrived
			for _, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
			}
			return c, changes, updates
		}
		main, _, _ := open("")
		hands, handsChange, _ := open("/hands")
		all, allChange, updated := open("/all")
		if era == mcp.Modern {
			assert.NilError(t, all.Subscribe(t.Context(), "file:///notes.md"))
		}
		change := func(how, server string) {
			_, err := main.CallTool(context.Background(), "host_"+how,
				map[string]string{"server": server})
			assert.NilError(t, err)
		}
		change("disable", "hand")
		assert.Equal(t, <-handsChange, 0)
		assert.Equal(t, <-allChange, 6)
		change("enable", "hand")
		assert.Equal(t, <-handsChange, 8)
		assert.Equal(t, <-allChange, 14)
		change("disable", "lib")
		assert.Equal(t, <-allChange, 8)
		change("enable", "lib")
		assert.Equal(t, <-allChange, 14)
		if era == mcp.Modern {
			assert.Equal(t, <-updated, "file:///notes.md",
				"it may have changed while the server was away")
		}
		assert.Equal(t, len(handsChange), 0, "nothing of lib's")
		for _, c := range []*client.Client{main, hands, all} {
			assert.NilError(t, c.Close())
		}
	}
	l.end(t)
}

// Profiles follow the configuration: a removed one is no longer served, a changed one offers its
// new servers, and a new one is served once the operator accepts it.
func TestProfilesFollow(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(profiles map[string]any) {
		t.Helper()
		text, err := json.Marshal(map[string]any{
			"mcpServers": map[string]any{"hand": counted(t, "/dev/null", "fixture:good"),
				"lib": counted(t, "/dev/null", "fixture:library")}, "profiles": profiles,
		})
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(path, text, 0o600))
	}
	write(map[string]any{"both": []string{"hand", "lib"}, "old": []string{"lib"}})
	l, _ := listen(t, "serve", "--no-auth", "--config", path)
	changes := make(chan int, 100)
	o := client.Options{OnToolsChanged: func(tools []*mcp.Tool, _ error) { changes <- len(tools) }}
	both, err := o.Connect(t.Context(), streamable.Dial(l.url+"/both"))
	assert.NilError(t, err)
	old, err := client.Connect(t.Context(), streamable.Dial(l.url+"/old"))
	assert.NilError(t, err)
	write(map[string]any{"both": []string{"hand"}, "new": []string{"lib"}})
	changed := func() string {
		for line := range l.stderr {
			if what, ok := strings.CutPrefix(line, "stdwire: the configuration has changed: "); ok {
				return what
			}
		}
		return ""
	}
	assert.Equal(t, changed(), "gone profile old")
	assert.Assert(t, cmp.Contains(run(t, "tools", "--url", l.url+"/new").stderr, "the profile does not exist"),
		"it waits")
	assert.NilError(t, l.cmd.Process.Signal(syscall.SIGHUP))
	assert.Equal(t, changed(), "new profile new")
	for <-changes != 8 { // the tools of the server hand
	}
	got := run(t, "tools", "--url", l.url+"/new")
	assert.Assert(t, strings.Contains(got.stdout, "lib__picture(") &&
		!strings.Contains(got.stdout, "hand__"), got.stdout+got.stderr)
	assert.Assert(t, cmp.Contains(run(t, "tools", "--url", l.url+"/old").stderr, "the profile does not exist"))
	_, err = old.CallTool(t.Context(), "lib__picture", nil)
	assert.ErrorContains(t, err, "the profile does not exist")
	for _, c := range []*client.Client{both, old} {
		assert.NilError(t, c.Close())
	}
	l.end(t)
}
