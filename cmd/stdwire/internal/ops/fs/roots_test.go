package fs

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestParseRoot(t *testing.T) {
	t.Parallel()
	cwd, err := os.Getwd()
	assert.NilError(t, err)
	for _, test := range []struct {
		in   string
		want Root
	}{
		{"docs=/srv/docs", Root{"docs", "/srv/docs"}},
		{"/srv/docs", Root{"docs", "/srv/docs"}},
		{"/srv/docs/", Root{"docs", "/srv/docs/"}},
		{".", Root{filepath.Base(cwd), "."}},
		{"/", Root{"root", "/"}},
		{"a=b=c", Root{"a", "b=c"}},
		{"./a=b", Root{"a_b", "./a=b"}},
		{"/srv/my docs.d", Root{"my_docs_d", "/srv/my docs.d"}},
		{"/srv/ü", Root{"root", "/srv/ü"}},
		{"=x", Root{"x", "=x"}},
	} {
		got, err := ParseRoot(test.in)
		assert.NilError(t, err, test.in)
		assert.Equal(t, got, test.want, test.in)
	}
	for _, bad := range []string{"", "a="} {
		_, err := ParseRoot(bad)
		assert.ErrorContains(t, err, "[NAME=]DIR", bad)
	}
}

func TestOpenRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o666))
	for _, test := range []struct {
		list []Root
		text string
	}{
		{nil, "no root"},
		{[]Root{{"a", dir}, {"a", dir}}, `two roots are named "a"`},
		{[]Root{{"a", filepath.Join(dir, "gone")}}, `root "a"`},
		{[]Root{{"a", dir}, {"b", file}}, "not a directory"},
		{[]Root{{"a b", dir}}, "letters"},
	} {
		_, err := OpenRoots(test.list)
		assert.ErrorContains(t, err, test.text)
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"one/f": "1", "two/f": "2"})
	s.open(t, Root{"one", filepath.Join(s.dir, "one")}, Root{"two", filepath.Join(s.dir, "two")})
	assert.Equal(t, run[ReadOutput](t, s, "fs.read", `{"path":"f"}`).Content, "1")
	assert.Equal(t, run[ReadOutput](t, s, "fs.read", `{"path":"f","instance":"two"}`).Content, "2")
	assert.Equal(t, run[WriteOutput](t, s, "fs.write",
		`{"path":"g","content":"","instance":"two"}`).Created, true)
	assert.Assert(t, s.exists("two/g") && !s.exists("one/g"))
	err := fails(t, s, "fs.stat", `{"path":"f","instance":"three"}`, dispatch.UnknownInstance,
		"one, two")
	assert.Assert(t, err.Recoverable)
}

// Without the gate, operations that change files do not exist.
func TestGate(t *testing.T) {
	t.Parallel()
	roots, err := OpenRoots([]Root{{"main", t.TempDir()}, {"other", t.TempDir()}})
	assert.NilError(t, err)
	defer roots.Close()
	for _, gates := range [][]dispatch.Gate{nil, {dispatch.GateWrite}} {
		catalog := dispatch.NewCatalog(gates...)
		assert.NilError(t, Register(catalog, roots))
		changes := 0
		for _, op := range catalog.Operations() {
			if op.Spec().Type != dispatch.Read {
				changes++
				assert.Equal(t, op.Spec().Gate, dispatch.GateWrite, op.Name())
			}
			assert.Assert(t, strings.Contains(op.Description(), "main, other; the default is main"),
				op.Description())
		}
		assert.Assert(t, len(catalog.Operations()) > changes)
		assert.Equal(t, changes > 0, gates != nil)
		assert.ErrorContains(t, Register(catalog, roots), "taken")
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	roots, err := OpenRoots([]Root{{"main", t.TempDir()}})
	assert.NilError(t, err)
	assert.NilError(t, roots.Close())
	catalog := dispatch.NewCatalog()
	assert.NilError(t, Register(catalog, roots))
	s := &service{dir: "?",
		dispatcher: dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(catalog)}
	fails(t, s, "fs.list", `{}`, dispatch.InternalError, "")
}
