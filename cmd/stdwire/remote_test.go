package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// echoServer serves one tool over HTTP to clients that send the password.
func echoServer(t *testing.T, password string) *httptest.Server {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "echo", Summary: "Says it again.", Type: dispatch.Read},
		func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		})
	discard := slog.New(slog.DiscardHandler)
	handler := streamable.Options{Logger: discard}.New(
		server.Options{Logger: discard}.New(server.Info{Name: "remote", Version: "2"}, catalog))
	t.Cleanup(func() { handler.Close() })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if password != "" && r.Header.Get("Authorization") != "Bearer "+password {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestRemote(t *testing.T) {
	s := echoServer(t, "")
	for _, era := range []string{"auto", "modern", "legacy"} {
		got := run(t, "call", "echo", "text=hello", "--url", s.URL, "--era", era)
		assert.Equal(t, got, ran{0, "hello\n", ""}, era)
	}
	got := run(t, "tools", "--url", s.URL)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "echo(text: str"))
	got = run(t, "inspect", "--url", s.URL)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "remote 2"))
	assert.Assert(t, !strings.Contains(got.stdout, "process"))
}

func TestRemoteUnauthorized(t *testing.T) {
	s := echoServer(t, "letmein")
	host := strings.TrimPrefix(s.URL, "http://")
	got := run(t, "tools", "--url", s.URL+"?key=hidden")
	assert.Equal(t, got.code, 3)
	assert.Equal(t, got.stderr, "stdwire: "+host+": start: POST "+s.URL+
		": 401 Unauthorized: \"who are you?\"\n"+
		"hint: log in: stdwire auth login URL, with the same URL; or, if you have a token, add --token-file FILE\n")

	got = run(t, "tools", "--url", s.URL, "--header", "Authorization: Bearer letmein")
	assert.Equal(t, got.code, 0, got.stderr)
	file := filepath.Join(t.TempDir(), "token")
	assert.NilError(t, os.WriteFile(file, []byte("Bearer letmein\n"), 0o600))
	got = run(t, "call", "echo", "text=x", "--url", s.URL, "--header", "authorization:@"+file)
	assert.Equal(t, got, ran{0, "x\n", ""})
	_, absent := os.Open(file + ".none")
	got = run(t, "tools", "--url", s.URL, "--header", "authorization:@"+file+".none")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, absent.(*os.PathError).Err.Error()))
}

func TestRemoteUnreachable(t *testing.T) {
	closed, err := freeport.Address()
	assert.NilError(t, err)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
	}))
	defer page.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer broken.Close()
	for _, tt := range []struct {
		url    string
		code   int
		stderr string
	}{
		{"http://" + closed, 4, socket.Refused.Error()},
		{page.URL, 4, `Content-Type "text/html" instead of application/json or text/event-stream: is this the URL of an MCP server?`},
		{broken.URL, 4, "502 Bad Gateway"},
		{"example.com", 2,
			"--url: the value is not an http or https URL\nhint: it looks like this: https://example.com/mcp"},
		{"ftp://example.com", 2, "--url: the value is not an http or https URL"},
	} {
		got := run(t, "tools", "--url", tt.url)
		assert.Equal(t, got.code, tt.code, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, tt.stderr))
		assert.Equal(t, got.stdout, "")
	}
}

func TestRemoteUsage(t *testing.T) {
	for _, tt := range []struct{ args, stderr string }{
		{"tools --header A:b", "--header is for a server at a --url"},
		{"tools --url http://x -- y",
			"--url and a command after -- exclude each other"},
		{"tools --url http://x --server-logs",
			"--server-logs is for servers that are started here"},
		{"tools --url http://x --write", "--write is for stdwire's own server"},
		{"tools --url http://x --header secret", "--header: the value is not NAME:VALUE"},
		{"tools --url http://x --header a(b):secret", "--header: the value is not NAME:VALUE"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "stdwire: tools: "+tt.stderr))
		assert.Assert(t, !strings.Contains(got.stderr, "secret"))
	}
}
