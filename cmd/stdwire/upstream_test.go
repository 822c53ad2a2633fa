//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The tools of a killed upstream server stay in the lists, and calls wait for its restart.
func TestUpstreamIsKilled(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	lists := make(chan []*mcp.Tool, 10)
	o := client.Options{OnToolsChanged: func(tools []*mcp.Tool, err error) {
		assert.Check(t, err)
		lists <- tools
	}}
	c, err := o.Spawn(t.Context(),
		client.Command{Path: self,
			Args: []string{"serve", "--config", mountFile(t), "--profile", "hand"},
			Env:  map[string]string{"HOME": os.Getenv("HOME")}})
	assert.NilError(t, err)
	defer func() {
		assert.Check(t, c.Close())
		assert.Check(t, c.Wait())
	}()
	echo := func() error {
		_, err := c.CallTool(t.Context(), "hand__echo", map[string]string{"text": "x"})
		return err
	}
	assert.NilError(t, echo())
	offered := countTools(t, c)
	before := upstreamPID(t, c)
	assert.NilError(t, syscall.Kill(before, syscall.SIGKILL))
	began := time.Now()
	for err := echo(); err != nil; err = echo() {
		// a call that is under way when it dies fails, any other waits
		assert.ErrorContains(t, err, "killed")
		assert.Assert(t, time.Since(began) < time.Minute)
	}
	assert.Assert(t, upstreamPID(t, c) != before)
	for len(lists) > 0 { // the first may come from the start
		assert.Equal(t, len(<-lists), offered, "its tools were there all the time")
	}
}

func countTools(t *testing.T, c *client.Client) (n int) {
	t.Helper()
	for _, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
		n++
	}
	return n
}

// upstreamPID returns the process id of the only upstream server.
func upstreamPID(t *testing.T, c *client.Client) int {
	t.Helper()
	r, err := c.CallTool(t.Context(), "host_status", nil)
	assert.NilError(t, err)
	var status struct {
		Data struct{ Servers []struct{ Pid int } }
	}
	assert.NilError(t, json.Unmarshal(r.StructuredContent, &status))
	assert.Equal(t, len(status.Data.Servers), 1, "%s", r.StructuredContent)
	assert.Assert(t, status.Data.Servers[0].Pid > 0)
	return status.Data.Servers[0].Pid
}

// Large results pass through whole. Messages that clients may not survive are refused, and the
// connections stay open.
func TestLargeUpstreamResult(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	path := mountFile(t)
	for _, era := range []string{"legacy", "modern"} {
		behind := func(args ...string) ran {
			t.Helper()
			return run(t, append(append(args, "--era", era, "--", self), "serve", "--config",
				path)...)
		}
		got := behind("call", "hand__big")
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Equal(t, got.stdout, strings.Repeat("0123456789abcde\n", 5<<20/16))
		got = behind("call", "hand__big", "mb:=12")
		assert.Equal(t, got.code, 7)
		assert.Assert(t, cmp.Contains(got.stderr, "maxResult allows 8388608"), got.stderr)
		assert.Equal(t, strings.Count(got.stderr, "\n"), 1, got.stderr)
	}
}

// A launcher that downloads a package takes long; the status says so.
func TestStillStarting(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	npx := filepath.Join(t.TempDir(), "npx")
	assert.NilError(t, os.Symlink(self, npx))
	got := runWith(t.Context(), termtest.Capture(true), "tools", "--start-timeout", "5s", "--",
		npx, "fixture:silent")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Regexp(`npx: still starting \(npx may be downloading it\) [345]s`,
		got.stderr), fmt.Sprintf("%q", got.stderr))
}
