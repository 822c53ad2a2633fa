//go:build linux

package conformance_test

import (
	"bufio"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// tap puts a tap before a server, and returns its site.
func (b *bench) tap(server string) *site {
	b.t.Helper()
	tap, err := conformance.NewHTTPTap(b.path("record"), server)
	assert.NilError(b.t, err)
	front := httptest.NewServer(tap)
	b.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		assert.Check(b.t, tap.Close())
	})
	return &site{bench: b, direct: server, tapped: front.URL +
		server[strings.LastIndexByte(server, '/'):]}
}

// background starts a program that prints its address on its first line, and ends when its input
// ends.
func (b *bench) background(name string, args ...string) (address string) {
	b.t.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("STDWIRE_NODE_DIR"), "node_modules", ".bin", name),
		args...)
	if _, err := os.Stat(cmd.Path); err != nil {
		cmd = exec.Command(name, args...)
	}
	cmd.Dir, cmd.Env, cmd.Stderr = b.dir, b.env, os.Stderr
	in, err := cmd.StdinPipe()
	assert.NilError(b.t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		in.Close()
		assert.Check(b.t, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(b.t, err)
	return strings.TrimSpace(line)
}

// The servers of the official SDKs over HTTP, in each of their eras.
func TestSDKServers(t *testing.T) {
	script, err := os.ReadFile("node/server.mjs")
	assert.NilError(t, err)
	for _, c := range []struct {
		sdk      string
		ask, era mcp.Era
	}{{"v1", 0, mcp.Legacy}, {"v2", 0, mcp.Modern}, {"v2", mcp.Legacy, mcp.Legacy}} {
		t.Run(c.sdk+" "+c.era.String(), func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			b.write("server.mjs", string(script))
			s := b.tap(b.background("node", "server.mjs", c.sdk))
			legacy := c.era == mcp.Legacy
			conformance.ServerTest{
				Connect: func(o client.Options) (*client.Client, error) {
					o.Era = c.ask
					return o.Connect(t.Context(), streamable.Dial(s.tapped))
				},
				Era:     c.era,
				Cut:     s.cut,
				Resumes: legacy,
				Closes:  legacy,
				Forgets: legacy,
			}.Run(t)
			b.checkClient("record")
		})
	}
}
