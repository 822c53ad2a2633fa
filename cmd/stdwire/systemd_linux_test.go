package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// The test passes a socket and listens to notifications, as systemd does; to an abstract socket
// too.
func TestSystemd(t *testing.T) {
	dir := ownRuntime(t)
	for _, name := range []string{filepath.Join(dir, "notify"), "@stdwire-test-" + filepath.Base(dir)} {
		for _, network := range []string{"tcp", "unix"} {
			testSystemd(t, name, network)
		}
	}
}

func testSystemd(t *testing.T, name, network string) {
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	assert.NilError(t, err)
	defer os.Remove(name)
	defer notify.Close()
	path := filepath.Join(filepath.Dir(t.TempDir()), "s")
	address := map[string]string{"tcp": "127.0.0.1:0", "unix": path}[network]
	listener, err := net.Listen(network, address)
	assert.NilError(t, err)
	defer listener.Close()
	f, err := listener.(interface{ File() (*os.File, error) }).File()
	assert.NilError(t, err)
	defer f.Close()
	self, err := os.Executable()
	assert.NilError(t, err)
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" "$@"`, self, "serve",
		"--http", "systemd", "--no-auth", "--root", t.TempDir())
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=20000")
	cmd.ExtraFiles = []*os.File{f}
	s := servingWith(t, cmd)
	states := func(want string) {
		t.Helper()
		assert.NilError(t, notify.SetReadDeadline(time.Now().Add(time.Minute)))
		for {
			b := make([]byte, 1000)
			n, err := notify.Read(b)
			assert.NilError(t, err, want)
			if strings.HasPrefix(string(b[:n]), want) {
				return
			}
		}
	}
	states("READY=1\nSTATUS=serving MCP at " + s.endpoint())
	for range 3 {
		states("WATCHDOG=1")
	}
	if network == "unix" {
		healthy(t, path)
	} else {
		got := run(t, "ls", "--url", s.endpoint())
		assert.Equal(t, got.code, 0, got.stderr)
	}
	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	states("STOPPING=1")
	assert.NilError(t, cmd.Wait())
	if network == "unix" {
		_, err = os.Stat(path)
		assert.NilError(t, err, "systemd keeps its socket")
	}
}

// Wrong sockets are refused.
func TestSystemdSocketRefused(t *testing.T) {
	ownRuntime(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	for _, tt := range []struct{ env, want string }{
		{"", "no socket was passed"},
		{"LISTEN_FDS=1", "passed to the process"},
		{"LISTEN_FDS=1 LISTEN_PID=$$", "cannot be listened to"},
		{"LISTEN_FDS=2 LISTEN_PID=$$", "2 sockets were passed"},
	} {
		cmd := exec.Command("sh", "-c", tt.env+` exec "$0" serve --http systemd --no-auth`, self)
		null, err := os.Open(os.DevNull)
		assert.NilError(t, err)
		cmd.ExtraFiles = []*os.File{null}
		output, err := cmd.CombinedOutput()
		_ = null.Close()
		assert.Equal(t, exitCode(err), 2, "%s: %s", tt.env, output)
		assert.Assert(t, strings.Contains(string(output), tt.want), "%s: %s", tt.env, output)
	}
}

// systemd's own program for tests passes the socket.
func TestSystemdSocketActivate(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	path := filepath.Join(ownRuntime(t), "h.sock")
	self, err := os.Executable()
	assert.NilError(t, err)
	cmd := exec.Command(activate, "-l", path, self, "serve", "--http", "systemd", "--no-auth",
		"--root", t.TempDir())
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	_, err = stderr.Read(make([]byte, 1000)) // Listening on …
	assert.NilError(t, err)
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	healthy(t, path)
}
