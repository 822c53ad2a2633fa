//go:build linux

package conformance_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// A site is a server in its own process, with one endpoint for both eras.
type site struct {
	*bench
	command []string    // without the address
	preface string      // in each line before that with the endpoint; "" if that is the first
	grumble string      // in each complaint that the process may print; "" for none
	process *exec.Cmd   // nil after stop
	said    chan string // the output of the process when it has ended
	direct  string      // the endpoint itself
	tapped  string      // the endpoint, with a tap in between that records as "record"
}

// serve starts a site of the everything-server. When the test ends, the site is interrupted, and
// must exit without an error and without a complaint in its output.
func (b *bench) serve() *site {
	b.t.Helper()
	path, err := everything()
	assert.NilError(b.t, err)
	return b.serving(path, "-http")
}

// serving is serve for another server, whose command ends with the address.
func (b *bench) serving(command ...string) *site {
	b.t.Helper()
	return b.servingAt("127.0.0.1:0", command...)
}

// servingAt is serving at an address.
func (b *bench) servingAt(address string, command ...string) *site {
	b.t.Helper()
	s := &site{bench: b, command: command}
	s.start(address)
	b.t.Cleanup(func() {
		if s.process != nil {
			s.stop(syscall.SIGTERM)
		}
	})

	tap, err := conformance.NewHTTPTap(b.path("record"), s.direct)
	assert.NilError(b.t, err)
	server := httptest.NewServer(tap)
	b.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		assert.Check(b.t, tap.Close())
	})
	s.tapped = server.URL + "/mcp"
	return s
}

// start starts the process at an address, and waits until it prints its endpoint.
func (s *site) start(address string) {
	s.t.Helper()
	s.process = exec.Command(s.command[0], slices.Concat(s.command[1:], []string{address})...)
	s.process.Dir, s.process.Env = s.dir, s.env
	stderr, err := s.process.StderrPipe()
	assert.NilError(s.t, err)
	assert.NilError(s.t, s.process.Start())
	in := bufio.NewReader(stderr)
	line, err := in.ReadString('\n')
	for strings.Contains(line, "level=INFO") ||
		s.preface != "" && strings.Contains(line, s.preface) {
		line, err = in.ReadString('\n')
	}
	s.said = make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(in)
		s.said <- string(rest)
	}()
	s.direct = endpoint.FindString(line)
	assert.Check(s.t, err == nil && s.direct != "", "the server said: %s: %v", line, err)
}

var endpoint = regexp.MustCompile(`http://\S+/mcp\b`)

// stop ends the process with a signal.
func (s *site) stop(how syscall.Signal) {
	s.t.Helper()
	assert.Check(s.t, s.process.Process.Signal(how))
	const patience = time.Minute
	// a Go program then prints its goroutines
	stuck := time.AfterFunc(patience, func() { _ = s.process.Process.Signal(syscall.SIGQUIT) })
	rest := <-s.said
	assert.Check(s.t, stuck.Stop(), "the server did not end within %v", patience)
	err := s.process.Wait()
	s.process = nil
	for line := range strings.Lines(rest) {
		assert.Check(s.t, strings.Contains(line, "level=INFO") || s.grumble != "" &&
			strings.Contains(line, s.grumble), "the server said: %s", line)
	}
	if how == syscall.SIGTERM {
		assert.Check(s.t, err)
	}
}

func (s *site) cut() {
	s.t.Helper()
	r, err := http.Post(strings.TrimSuffix(s.tapped, "/mcp")+"/cut", "", nil)
	assert.NilError(s.t, err)
	assert.NilError(s.t, r.Body.Close())
	assert.Equal(s.t, r.StatusCode, http.StatusNoContent)
}
