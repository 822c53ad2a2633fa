//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A session with a process of its own has the same one at all servers with a store, and another one
// when its server has ended, after the first.
func TestServeForwards(t *testing.T) {
	ownRuntime(t)
	store := redistest.Start(t)
	t.Setenv("STDWIRE_TEST_KEY", strings.Repeat("k", 40))
	notes := newNotes(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	program, err := os.Executable()
	assert.NilError(t, err)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"own": map[string]any{"command": program, "args": []string{"fixture:roots", notes.path},
			"perSession": true}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	serve := func() (*exec.Cmd, *url.URL) {
		t.Helper()
		free, err := net.Listen("tcp", "127.0.0.1:0")
		assert.NilError(t, err)
		address := free.Addr().String()
		assert.NilError(t, free.Close())
		cmd, _, _ := stdwire(t, "serve", "--config", path, "--http", address, "--no-auth",
			"--state-key-env", "STDWIRE_TEST_KEY", "--store", "unix://"+store.Options.Address,
			"--replica-url", "http://"+address)
		cmd.Stderr = nil
		stderr, err := cmd.StderrPipe()
		assert.NilError(t, err)
		assert.NilError(t, cmd.Start())
		lines := bufio.NewReader(stderr)
		for line := ""; !strings.Contains(line, "MCP at "); {
			line, err = lines.ReadString('\n')
			assert.NilError(t, err)
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		return cmd, &url.URL{Scheme: "http", Host: address}
	}
	first, a := serve()
	_, b := serve()
	var count atomic.Int64
	var targets atomic.Pointer[[]*url.URL]
	targets.Store(&[]*url.URL{a})
	balancer := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1,
		Transport: &http.Transport{DisableKeepAlives: true}, // they would delay the end of a server
		Rewrite: func(r *httputil.ProxyRequest) {
			all := *targets.Load()
			r.SetURL(all[int(count.Add(1))%len(all)])
		}})
	defer balancer.Close()
	c, err := client.Options{Era: mcp.Legacy, Roots: []mcp.Root{{URI: "file:///a"}}}.Connect(
		t.Context(), streamable.Dial(balancer.URL+"/mcp"))
	assert.NilError(t, err)
	targets.Store(&[]*url.URL{a, b})
	call := func(tool string) string {
		t.Helper()
		result, err := c.CallTool(t.Context(), tool, nil)
		assert.NilError(t, err)
		return result.Content[0].(*mcp.TextContent).Text
	}
	pid := call("own__me")
	for range 5 {
		assert.Equal(t, call("own__roots"), `[{"uri":"file:///a"}]`)
		assert.Equal(t, call("own__me"), pid)
	}
	targets.Store(&[]*url.URL{b})
	assert.NilError(t, first.Process.Signal(syscall.SIGTERM))
	for call("own__me") == pid { // the server has not got the signal yet
	}
	ended := notes.Line(t) + notes.Line(t) // of the session, and of the gateway itself
	assert.Assert(t, strings.Contains(ended, "ended "+pid+"\n"), ended)
	assert.Equal(t, exitCode(first.Wait()), 0)
	assert.Equal(t, call("own__roots"), `[{"uri":"file:///a"}]`)
	assert.NilError(t, c.Close())
}
