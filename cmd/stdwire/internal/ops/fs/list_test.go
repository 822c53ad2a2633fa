package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func paths(entries []Entry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	return strings.Join(names, " ")
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"a.go": "12", "B.txt": "", "src/b.go": "", "src/b-c.ts": "", "src/deep/c.go": "",
		"src/deep/c.tsx":          "",
		"node_modules/x/index.js": "", ".git/config": "", "sub/.git/config": "", "empty/": "",
	})
	for _, test := range []struct {
		args, want string
	}{
		{`{}`, ".git B.txt a.go empty node_modules src sub"},
		{`{"path":"src"}`, "src/b-c.ts src/b.go src/deep"},
		{`{"path":"empty"}`, ""},
		{`{"path":".git"}`, ".git/config"},
		{`{"path":"sub/.git","recursive":true}`, "sub/.git/config"},
		{`{"recursive":true,"exclude":["node_modules"]}`,
			".git B.txt a.go empty src src/b-c.ts src/b.go src/deep src/deep/c.go src/deep/c.tsx sub sub/.git"},
		{`{"recursive":true,"glob":"*.go"}`, "a.go src/b.go src/deep/c.go"},
		{`{"recursive":true,"glob":"*.{ts,tsx}"}`, "src/b-c.ts src/deep/c.tsx"},
		{`{"recursive":true,"glob":"**/*.go","exclude":["src/deep/**"]}`, "a.go src/b.go"},
		// from the directory listed
		{`{"recursive":true,"path":"src","glob":"deep/*"}`, "src/deep/c.go src/deep/c.tsx"},
		{`{"recursive":true,"path":"src","exclude":["deep","*.ts"]}`, "src/b.go"},
		{`{"glob":"*.go"}`, "a.go"},
	} {
		t.Run(test.args, func(t *testing.T) {
			out := run[ListOutput](t, s, "fs.list", test.args)
			assert.Equal(t, paths(out.Entries), test.want)
			assert.Equal(t, out.Truncated, false)
			assert.Equal(t, out.Skipped, 0)
		})
	}
	first := run[ListOutput](t, s, "fs.list", `{"glob":"[as]*"}`).Entries
	assert.Equal(t, paths(first), "a.go src sub")
	assert.Equal(t, first[0].Type+" "+first[1].Type, "file dir")
	assert.Equal(t, first[0].Size, int64(2))

	fails(t, s, "fs.list", `{"path":"a.go"}`, dispatch.StateError, "not a directory")
	fails(t, s, "fs.list", `{"path":"gone"}`, dispatch.NotFound, "does not exist")
	fails(t, s, "fs.list", `{"glob":"["}`, dispatch.InvalidInput, "without ]")
	fails(t, s, "fs.list", `{"exclude":["{a"]}`, dispatch.InvalidInput, "exclude: glob")
	fails(t, s, "fs.list", `{"limit":0}`, dispatch.InvalidInput, "limit")
}

// A link is listed as a link, and followed only if it is the path.
func TestListLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"src/b.go": "", "up": "-> src"})
	list := run[ListOutput](t, s, "fs.list", `{"recursive":true}`).Entries
	assert.Equal(t, paths(list), "src src/b.go up")
	assert.Equal(t, list[2].Type, "symlink")
	list = run[ListOutput](t, s, "fs.list", `{"path":"up"}`).Entries
	assert.Equal(t, paths(list), "up/b.go")
}

func TestListMany(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	for i := range 30 {
		dir := filepath.Join(s.dir, fmt.Sprintf("%02d", i))
		assert.NilError(t, os.Mkdir(dir, 0o777))
		for j := range 99 {
			assert.NilError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d", j)), nil, 0o666))
		}
	}
	out := run[ListOutput](t, s, "fs.list", `{"recursive":true}`)
	assert.Equal(t, len(out.Entries), 1000)
	assert.Equal(t, out.Truncated, true)
	assert.Equal(t, out.Entries[999].Path, "09/98")
	exact := run[ListOutput](t, s, "fs.list", `{"recursive":true,"limit":3000}`)
	assert.Equal(t, len(exact.Entries), 3000)
	assert.Equal(t, exact.Truncated, false)

	var reported []float64
	args := json.RawMessage(`{"recursive":true,"limit":3000}`)
	call := &dispatch.Call{Operation: "fs.list", Arguments: args,
		Progress: func(done, _ float64, _ string) {
			reported = append(reported, done)
		}}
	assert.Assert(t, s.dispatcher.Dispatch(t.Context(), call).Err == nil)
	assert.DeepEqual(t, reported, []float64{1000, 2000, 3000})

	// A cancellation during the walk ends it at the next entry.
	ctx, cancel := context.WithCancel(t.Context())
	reported = nil
	call = &dispatch.Call{Operation: "fs.list", Arguments: args,
		Progress: func(done, _ float64, _ string) {
			reported = append(reported, done)
			cancel()
		}}
	envelope := s.dispatcher.Dispatch(ctx, call)
	assert.ErrorIs(t, envelope.Err, dispatch.Cancelled)
	assert.DeepEqual(t, reported, []float64{1000})
}

func TestWalkLimits(t *testing.T) {
	t.Parallel()
	s := newService(t,
		map[string]string{"d/1": "", "d/2/3/4/5": "", "d/6": "", "huge/": "", "z": ""})
	for i := range 2500 {
		assert.NilError(t, os.WriteFile(filepath.Join(s.dir, "huge", fmt.Sprint(i)), nil, 0o666))
	}
	r, err := s.roots.instances.Get("")
	assert.NilError(t, err)
	for _, test := range []struct {
		limits    walkLimits
		want      string // without the entries of huge
		huge      int
		truncated bool
	}{
		{walkLimits{3000, 3000, 5}, "d d/1 d/2 d/2/3 d/2/3/4 d/2/3/4/5 d/6 huge z", 2500, false},
		{walkLimits{4, 3000, 5}, "d d/1 d/2 d/2/3", 0, true},
		{walkLimits{2509, 3000, 5}, "d d/1 d/2 d/2/3 d/2/3/4 d/2/3/4/5 d/6 huge z", 2500, false},
		{walkLimits{2508, 3000, 5}, "d d/1 d/2 d/2/3 d/2/3/4 d/2/3/4/5 d/6 huge", 2500, true},
		{walkLimits{3000, 3000, 2}, "d d/1 d/2 d/2/3 d/6 huge z", 2500, true},
		// later directories are still visited
		{walkLimits{3000, 1500, 5}, "d d/1 d/2 d/2/3 d/2/3/4 d/2/3/4/5 d/6 huge z", 2000, true},
	} {
		var visited []string
		huge := 0
		w := walk{root: r, limits: test.limits, recursive: true}
		w.visit = func(name, _ string, _ os.DirEntry) error {
			if strings.HasPrefix(name, "huge/") {
				huge++
			} else {
				visited = append(visited, name)
			}
			return nil
		}
		assert.NilError(t, w.from(t.Context(), "."))
		assert.Equal(t, strings.Join(visited, " "), test.want, "%+v", test.limits)
		assert.Equal(t, huge, test.huge, "%+v", test.limits)
		assert.Equal(t, w.truncated, test.truncated, "%+v", test.limits)
	}
}
