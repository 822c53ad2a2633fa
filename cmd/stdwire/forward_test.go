//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
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
	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serveReplica starts one of several servers with a store, which pass requests on to one another.
func serveReplica(t *testing.T, store *redistest.Server, scheme string, args ...string) (*exec.Cmd,
	*url.URL) {
	t.Helper()
	address, err := freeport.Address()
	assert.NilError(t, err)
	cmd, _, _ := stdwire(t, append([]string{"serve", "--http", address,
		"--state-key-env", "STDWIRE_TEST_KEY", "--store", "unix://" + store.Options.Address,
		"--replica-url", scheme + "://" + address}, args...)...)
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
	return cmd, &url.URL{Scheme: scheme, Host: address}
}

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
		return serveReplica(t, store, "http", "--config", path, "--no-auth")
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

// Servers that admit only clients with certificates show one to one another, and the caller of what
// they pass on is the client, whose certificate another server has seen.
func TestServeForwardsWithCertificates(t *testing.T) {
	ownRuntime(t)
	store := redistest.Start(t)
	t.Setenv("STDWIRE_TEST_KEY", strings.Repeat("k", 40))
	certificate, key := selfSigned(t)
	args := []string{"--root", t.TempDir(), "--tls-cert", certificate, "--tls-key", key,
		"--tls-client-ca", certificate, "--replica-ca", certificate}
	withCertificate := append(args, "--replica-cert", certificate, "--replica-key", key)
	_, a := serveReplica(t, store, "https", withCertificate...)
	_, b := serveReplica(t, store, "https", withCertificate...)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	assert.NilError(t, err)
	content, err := os.ReadFile(certificate)
	assert.NilError(t, err)
	authorities := x509.NewCertPool()
	assert.Assert(t, authorities.AppendCertsFromPEM(content))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities,
		Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	post := func(at *url.URL, session, body string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), "POST", at.String()+"/mcp",
			strings.NewReader(body))
		assert.NilError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		response, err := transport.RoundTrip(request)
		assert.NilError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	opened := post(a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
		`"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	assert.Equal(t, opened.StatusCode, 200)
	session := opened.Header.Get("Mcp-Session-Id")
	for _, at := range []*url.URL{a, b} {
		response := post(at, session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		text, err := io.ReadAll(response.Body)
		assert.NilError(t, err)
		assert.Equal(t, response.StatusCode, 200, string(text))
	}
	for _, tt := range []struct {
		url  string
		args []string
		want string
	}{
		{"https://h", args, "add --replica-cert FILE"},
		{"http://h", args, "--replica-ca is for addresses of https"},
		{"HTTP://h", args[:6], "with --tls-cert, other servers reach this one with https only"},
	} {
		got := run(t, append([]string{"serve", "--http", "127.0.0.1:0", "--store", "redis://h",
			"--state-key-env", "STDWIRE_TEST_KEY", "--replica-url", tt.url}, tt.args...)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, strings.Contains(got.stderr, tt.want), got.stderr)
	}
}
