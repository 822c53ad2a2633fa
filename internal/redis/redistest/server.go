// Package redistest starts real servers for tests.
package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
)

// A Server is redis-server or valkey-server on a Unix socket, without files.
type Server struct {
	Options redis.Options // the default user's

	t      testing.TB
	binary string
	args   []string
	cmd    *exec.Cmd
}

// Start starts a server, which ends with the test. The test is skipped if there is none.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			s.binary = path
			break
		}
	}
	if s.binary == "" {
		t.Skip("there is neither redis-server nor valkey-server")
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	s.Options = redis.Options{Network: "unix", Address: socket}
	s.args = append([]string{"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
		"--dir", dir}, args...)
	t.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts the server again after Kill, empty, and waits until it listens.
func (s *Server) Restart() {
	s.t.Helper()
	_ = os.Remove(s.Options.Address)
	s.cmd = exec.Command(s.binary, s.args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", s.Options.Address); err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s does not start", s.binary)
		}
	}
}

// Kill kills the server, if it runs.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Client returns a client of the server, which ends with the test.
func (s *Server) Client() *redis.Client {
	s.t.Helper()
	c, err := redis.New(s.Options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// Available waits until a client reaches its server.
func Available(t testing.TB, c *redis.Client) {
	t.Helper()
	var err error
	end := time.Now().Add(time.Minute)
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err = c.Do(context.Background(), "PING"); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// Pid returns the id of the process, which runs.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
