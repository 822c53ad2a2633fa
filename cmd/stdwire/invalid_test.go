package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// About, which stdwire status prints, says while the configuration on disk is invalid why, and that
// of single servers.
func TestAboutInvalidConfiguration(t *testing.T) {
	m, path := newConfig(t, obj{"a": good()})
	st := newStand(t, m, path)
	assert.Equal(t, len(st.About().Invalid), 0)
	st.write([]byte(`{"mcpServers": {`))
	for range 2 {
		st.fileChanged()
		invalid := st.About().Invalid
		assert.Equal(t, len(invalid), 1)
		assert.Assert(t, cmp.Contains(invalid[0], "mcp.json"))
		st.expectServers("a")
	}
	st.write(configText(t, obj{"a": good(), "b": obj{"command": 5}}))
	st.fileChanged()
	assert.Equal(t, len(st.About().Invalid), 1, "%v", st.About().Invalid)
	st.write(configText(t, obj{"a": good()}))
	st.fileChanged()
	assert.Equal(t, len(st.About().Invalid), 0, "%v", st.About().Invalid)
	const again = "stdwire: the configuration is valid again\n"
	assert.Assert(t, strings.HasSuffix(st.stderr.Take(), again))
	st.fileChanged()
	assert.Equal(t, st.stderr.Take(), "")
	st.write([]byte(`{"mcpServers": {`))
	st.fileChanged()
	assert.Assert(t, cmp.Contains(st.stderr.Take(), "cannot be used"))
	st.write(configText(t, obj{"a": good()}))
	st.fileChanged()
	assert.Equal(t, st.stderr.Take(), again)
}

// The hint for a tool of a server that is down says why it is.
func TestHintForServerThatIsDown(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good(),
		"broken": obj{"command": self, "args": []string{"fixture:none"}}}), 0o600))
	for _, args := range [][]string{{"call", "broken__x"}, {"prompt", "broken__x"},
		{"inspect", "broken__x"}} {
		r := run(t, append(args, "--", self, "serve", "--config", path)...)
		assert.Assert(t, r.code != 0)
		assert.Assert(t, strings.Contains(r.stderr, `server "broken" has failed`), r.stderr)
	}
}
