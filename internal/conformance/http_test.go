//go:build linux

package conformance_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// A site is the everything-server in a process of its own, on an endpoint for both eras.
type site struct {
	*bench
	pid    int
	direct string // the endpoint itself
	tapped string // the endpoint, with a tap in between that records as "record"
}

// serve starts a site. When the test ends it is told to end, and has to do so in good order, without having had anything to complain of.
func (b *bench) serve() *site {
	b.t.Helper()
	path, err := everything()
	assert.NilError(b.t, err)
	cmd := exec.Command(path, "-http", "127.0.0.1:0")
	cmd.Dir, cmd.Env = b.dir, os.Environ()
	stderr, err := cmd.StderrPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	in := bufio.NewReader(stderr)
	line, err := in.ReadString('\n')
	said := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(in)
		said <- string(rest)
	}()
	b.t.Cleanup(func() {
		assert.Check(b.t, cmd.Process.Signal(syscall.SIGTERM))
		rest := <-said
		assert.Check(b.t, cmd.Wait())
		assert.Check(b.t, rest == "", "the server said: %s", rest)
	})
	assert.NilError(b.t, err)
	s := &site{bench: b, pid: cmd.Process.Pid, direct: strings.TrimSpace(line)}

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

func (s *site) cut() {
	s.t.Helper()
	r, err := http.Post(strings.TrimSuffix(s.tapped, "/mcp")+"/cut", "", nil)
	assert.NilError(s.t, err)
	assert.NilError(s.t, r.Body.Close())
	assert.Equal(s.t, r.StatusCode, http.StatusNoContent)
}
