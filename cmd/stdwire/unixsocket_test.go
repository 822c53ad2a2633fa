//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// healthy requests /healthz over a Unix socket.
func healthy(t *testing.T, path string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
	response, err := client.Get("http://localhost/healthz")
	assert.NilError(t, err)
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	assert.Equal(t, response.StatusCode, http.StatusOK)
}

// Only the user can connect to the socket. One of a process that was killed is replaced, and one
// that is in use is not.
func TestServeUnixSocket(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := ownRuntime(t)
	path := filepath.Join(dir, "h.sock")
	self, err := os.Executable()
	assert.NilError(t, err)
	start := func() *served {
		t.Helper()
		return servingWith(t, exec.Command(self, "serve", "--http", "unix:"+path, "--no-auth",
			"--root", t.TempDir()))
	}
	s := start()
	assert.Equal(t, s.endpoint(), "http://unix:"+path+":/mcp")
	healthy(t, path)
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))

	got := run(t, "serve", "--http", "unix:"+path)
	assert.Equal(t, got.code, 2, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "another program listens at "+path), got.stderr)
	healthy(t, path)

	assert.NilError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
	_, err = os.Stat(path)
	assert.NilError(t, err)
	s = start()
	healthy(t, path)
	assert.NilError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	assert.NilError(t, s.cmd.Wait())
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	for _, entry := range entries {
		assert.Assert(t, entry.IsDir() && !strings.HasPrefix(entry.Name(), "."), entry.Name())
	}
}

func TestServeUnixSocketRefused(t *testing.T) {
	ownRuntime(t)
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{
		"":                                "is not an address",
		file:                              "exists and is not a socket",
		"/none/x":                         "no such file or directory",
		"/tmp/" + strings.Repeat("x", 99): "has at most 103 bytes",
		// the socket has another name there at first
		"/tmp/" + strings.Repeat("x", 89) + "/x": "the directory of a socket has at most 93 bytes",
	} {
		got := run(t, "serve", "--http", "unix:"+path)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, strings.Contains(got.stderr, want), got.stderr)
	}
}
