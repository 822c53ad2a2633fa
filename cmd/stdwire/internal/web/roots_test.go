package web

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// The working directory is a root of processes of the command line only.
func TestDefaultRoots(t *testing.T) {
	e := edit(t, twoServers, false)
	std := &term.Streams{Err: &term.Console{W: io.Discard}}
	dir, err := os.Getwd()
	assert.NilError(t, err)
	base := dir[strings.LastIndexAny(dir, `/\`)+1:]
	for _, tt := range []struct {
		name string
		set  func(*target.Target) error
		want bool
	}{
		{"a command", func(t *target.Target) error {
			t.Command([]string{"files"})
			return nil
		}, true},
		{"stdwire's own", func(*target.Target) error { return nil }, true},
		{"a URL", func(t *target.Target) error { return t.Remote.SetURL("http://h/mcp") }, false},
		{"a kept connection", func(t *target.Target) error { return t.SetConnection("docs") },
			false},
	} {
		one := target.NewTarget()
		assert.NilError(t, tt.set(one), tt.name)
		srv := e.site.servers.targetServer(one, std)
		srv.id, srv.added = "under-test", true
		e.site.servers.all = append(e.site.servers.all[:2:2], srv)
		roots := e.site.servers.defaultRoots(srv.id)
		assert.Equal(t, len(roots) == 1, tt.want, "%s: %q", tt.name, roots)
		assert.Assert(t, roots != nil, tt.name) // nil would ask the user
		if tt.want {
			assert.Assert(t, strings.HasSuffix(roots[0], base), "%q", roots)
		}
	}
	for _, id := range []string{"one", "two"} {
		assert.DeepEqual(t, e.site.servers.defaultRoots(id), []string{})
	}
}

// To set roots starts no server, and they are not for another definition with the same id.
func TestRootsEndWithTheDefinition(t *testing.T) {
	e := edit(t, twoServers, false)
	e.site.std = &term.Streams{Err: &term.Console{W: io.Discard}}
	set := func(id string, want int) {
		t.Helper()
		status, body := e.post("/api/servers/"+id+"/roots", map[string]any{
			"result": json.RawMessage(`{"roots": [{"uri": "file:///secret"}]}`)}, nil)
		assert.Equal(t, status, want, "%s", body)
	}
	shown := func() map[string]string {
		all := map[string]string{}
		for _, s := range e.site.servers.statuses() {
			assert.Equal(t, s.State, host.Stopped, s.ID)
			all[s.ID] = strings.Join(s.Roots, " ")
		}
		return all
	}
	var added struct{ ID string }
	connect := map[string]string{"url": "http://127.0.0.1:9/mcp"}
	e.post("/api/connect", connect, &added)
	for id, status := range map[string]int{"one": 200, "two": 200, added.ID: 200, "none": 404} {
		set(id, status)
	}
	assert.DeepEqual(t, shown(), map[string]string{"one": "file:///secret",
		"two": "file:///secret", added.ID: "file:///secret"})

	e.write(fileChange{Server: "one", From: "one",
		Definition: `{"url": "https://example.com/other"}`})
	e.post("/api/servers/"+added.ID+"/do/forget", struct{}{}, nil)
	e.post("/api/connect", connect, &added)
	assert.DeepEqual(t, shown(), map[string]string{"one": "", "two": "file:///secret",
		added.ID: ""})
}

// A user who copies the flag of a server into a shell runs nothing that its URL names.
func TestSelectorIsQuoted(t *testing.T) {
	one := target.NewTarget()
	assert.NilError(t, one.Remote.SetURL("http://h/$(id)"))
	e := edit(t, twoServers, false)
	srv := e.site.servers.targetServer(one, &term.Streams{Err: &term.Console{W: io.Discard}})
	assert.Assert(t, cmp.Contains(srv.url, "$(id)"))
	assert.Equal(t, srv.selector, "--url '"+srv.url+"'")
}
