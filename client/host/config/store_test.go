package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// projectServer is one that has to be trusted.
func projectServer(t *testing.T, workspace, id, definition string) *Server {
	t.Helper()
	f := Parse(world(nil, nil),
		Source{Path: workspace + "/mcp.json", Workspace: workspace, Project: true},
		[]byte(`{"servers": {"`+id+`": `+definition+`}}`))
	assert.NilError(t, f.Servers[0].Err)
	return f.Servers[0]
}

func TestTrust(t *testing.T) {
	st := &Store{filepath.Join(t.TempDir(), "state", "stdwire", "trust.json")}
	s := projectServer(t, "/project", "s", `{"command": "x", "env": {"A": "1", "B": "${B}"}}`)
	untrusted := func(s *Server, changed bool) {
		t.Helper()
		err := st.Check(s)
		var u *UntrustedError
		assert.Assert(t, errors.As(err, &u), "%v", err)
		assert.Equal(t, u.Changed, changed)
	}
	untrusted(s, false)
	assert.Error(t, st.Check(s), `/project/mcp.json:1:14: server "s" is not trusted`)
	_, err := os.Stat(st.Path)
	assert.ErrorIs(t, err, os.ErrNotExist, "looking leaves nothing behind")

	assert.NilError(t, st.Trust(s))
	assert.NilError(t, st.Check(s))
	for path, mode := range map[string]os.FileMode{st.Path: 0o600, filepath.Dir(st.Path): 0o700} {
		info, err := os.Stat(path)
		assert.NilError(t, err)
		if atomicfile.Permissions {
			assert.Equal(t, info.Mode().Perm(), mode)
		}
	}

	// The same, written otherwise, is the same.
	assert.NilError(t,
		st.Check(projectServer(t, "/project", "s",
			`{"type": "local", "environment": {"B": "${B}", "A": "1"}, "command": ["x"], "disabled": true, "unknown": 1}`)))
	for _, changed := range []string{
		`{"command": "y", "env": {"A": "1", "B": "${B}"}}`,
		`{"command": "x", "env": {"A": "2", "B": "${B}"}}`,
		`{"command": "x", "env": {"A": "1", "B": "${C}"}}`,
		`{"command": "x", "env": {"A": "1", "B": "${B}"}, "args": [""]}`,
		`{"command": "x", "env": {"A": "1", "B": "${B}"}, "cwd": "."}`,
		`{"command": "x", "env": {"A": "1", "B": "${B}"}, "envFile": ".env"}`,
		`{"command": "x", "env": {"A": "1", "B": "${B}"}, "inheritEnv": true}`,
		`{"url": "http://x"}`,
		`{"command": "x", "env": {"A": "1", "B": "${B}"}, "tools": {"allow": ["*"]}}`,
	} {
		untrusted(projectServer(t, "/project", "s", changed), true)
	}
	// Elsewhere the same definition runs something else.
	untrusted(projectServer(t, "/other", "s", `{"command": "x", "env": {"A": "1", "B": "${B}"}}`),
		false)
	untrusted(projectServer(t, "/project", "t", `{"command": "x", "env": {"A": "1", "B": "${B}"}}`),
		false)
	own := *s
	own.ID, own.Project = "mine", false
	assert.NilError(t, st.Check(&own))

	n, err := st.Revoke(s, &own)
	assert.NilError(t, err)
	assert.Equal(t, n, 1)
	untrusted(s, false)
	n, err = st.Revoke(s)
	assert.NilError(t, err)
	assert.Equal(t, n, 0)
}

// An invalid store trusts no server.
func TestInvalidStores(t *testing.T) {
	s := projectServer(t, "/project", "s", `{"command": "x"}`)
	st := &Store{filepath.Join(t.TempDir(), "trust.json")}
	assert.NilError(t, os.WriteFile(st.Path, []byte(`{"trusted": [`), 0o600))
	assert.ErrorContains(t, st.Check(s), "delete it and trust your servers again")
	assert.ErrorContains(t, st.Trust(s), "delete it and trust your servers again")
	content, err := os.ReadFile(st.Path)
	assert.NilError(t, err)
	assert.Equal(t, string(content), `{"trusted": [`)

	assert.NilError(t, os.Remove(st.Path))
	assert.NilError(t, st.Trust(s))
	if atomicfile.Permissions {
		assert.NilError(t, os.Chmod(st.Path, 0o622))
		assert.ErrorContains(t, st.Check(s), "is writable by other users")
		assert.NilError(t, os.Chmod(st.Path, 0o600))
	}
	assert.NilError(t, st.Check(s))

	var many []Trustable
	for i := range maxTrusted {
		many = append(many, &Server{ID: fmt.Sprint(i)})
	}
	assert.ErrorContains(t, st.Trust(many...), "has 10000 servers already")
}

// A reader of the store never sees a partial change.
func TestConcurrentStore(t *testing.T) {
	st := &Store{filepath.Join(t.TempDir(), "trust.json")}
	lasting := projectServer(t, "/project", "lasting", `{"command": "x"}`)
	assert.NilError(t, st.Trust(lasting))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := &Server{ID: fmt.Sprint("s", i), Workspace: "/project", Project: true}
			for range 20 {
				assert.Check(t, st.Trust(s))
				assert.Check(t, st.Check(lasting))
				_, err := st.Revoke(s)
				assert.Check(t, err)
			}
		})
	}
	wg.Wait()
	assert.NilError(t, st.Check(lasting))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(st.Path), ".stdwire-*"))
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}
