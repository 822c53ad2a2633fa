package fs

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "old"})
	for _, test := range []struct {
		args map[string]any
		want WriteOutput // without size and sha256
	}{
		{map[string]any{"path": "f", "content": "new"}, WriteOutput{Path: "f"}},
		{map[string]any{"path": "f", "content": ""}, WriteOutput{Path: "f"}},
		{map[string]any{"path": "./x", "content": "\x00ü"}, WriteOutput{Path: "x", Created: true}},
		{map[string]any{"path": "a/b/c", "content": "1", "create_dirs": true},
			WriteOutput{Path: "a/b/c", Created: true}},
		{map[string]any{"path": "a/b/c", "content": "2", "create_dirs": true},
			WriteOutput{Path: "a/b/c"}},
		{map[string]any{"path": "bin", "content": "/wA=", "encoding": "base64"},
			WriteOutput{Path: "bin", Created: true}},
	} {
		t.Run(fmt.Sprint(test.args), func(t *testing.T) {
			content := []byte(test.args["content"].(string))
			if test.args["encoding"] == "base64" {
				content, _ = base64.StdEncoding.DecodeString(string(content))
			}
			test.want.Size, test.want.SHA256 = int64(len(content)), replace.HexSum(content)
			assert.DeepEqual(t, run[WriteOutput](t, s, "fs.write", test.args), test.want)
			assert.Equal(t, s.content(t, test.want.Path), string(content))
			assert.Equal(t, run[ReadOutput](t, s, "fs.read",
				map[string]any{"path": test.want.Path}).SHA256, test.want.SHA256)
		})
	}
	assert.DeepEqual(t, s.names(t), strings.Fields("a a/b a/b/c bin f x"))
}

// Writing through a link writes its target.
func TestWriteLinks(t *testing.T) {
	t.Parallel()
	s := newService(t,
		map[string]string{"f": "old", "d/g": "", "link": "-> d/g", "dangling": "-> d/new",
			"up/": "", "up/l": "-> ../f"})
	for _, test := range []struct {
		path, content, written string
		created                bool
	}{
		{"link", "through", "d/g", false}, {"up/l", "through", "f", false},
		{"dangling", "made", "d/new", true},
	} {
		want := WriteOutput{test.written, int64(len(test.content)),
			replace.HexSum([]byte(test.content)), test.created}
		args := map[string]any{"path": test.path, "content": test.content}
		assert.DeepEqual(t, run[WriteOutput](t, s, "fs.write", args), want)
		assert.Equal(t, s.content(t, test.written), test.content)
	}
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"link"}`).Type, "symlink",
		"the link itself stays")
	assert.DeepEqual(t, s.names(t), strings.Fields("d d/g d/new dangling f link up up/l"))
	s.put(t, "a", "-> b")
	s.put(t, "b", "-> a")
	fails(t, s, "fs.write", `{"path":"a","content":""}`, dispatch.StateError, "circle")
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "old", "d/": "", "ro": "old"})
	assert.NilError(t, os.Chmod(filepath.Join(s.dir, "ro"), 0o444))
	for _, test := range []struct {
		args string
		code dispatch.Code
		text string
	}{
		{`{"path":"gone/f","content":""}`, dispatch.NotFound, "create_dirs"},
		{`{"path":"f/g","content":""}`, dispatch.NotFound, "not a directory"},
		{`{"path":"f/g","content":"","create_dirs":true}`, dispatch.NotFound, "not a directory"},
		{`{"path":"d","content":""}`, dispatch.StateError, "is a directory"},
		{`{"path":".","content":""}`, dispatch.StateError, "is a directory"},
		{`{"path":"ro","content":""}`, dispatch.PermissionDenied, "read-only"},
		{`{"path":"f","content":"%","encoding":"base64"}`, dispatch.InvalidInput, "not base64"},
		{`{"path":"f","content":"","if_sha256":"abc"}`, dispatch.InvalidInput, "if_sha256"},
		{`{"path":"","content":""}`, dispatch.InvalidInput, "empty"},
		{`{"path":"` + strings.Repeat("n", 300) + `","content":""}`, dispatch.InvalidInput,
			"too long"},
		{`{"path":"f","content":"","instance":"x"}`, dispatch.UnknownInstance, "main"},
	} {
		t.Run(test.args, func(t *testing.T) {
			fails(t, s, "fs.write", test.args, test.code, test.text)
		})
	}
	assert.DeepEqual(t, s.names(t), strings.Fields("d f ro"))
	assert.Equal(t, s.content(t, "f"), "old")
}

func TestWriteIfSHA256(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "one", "d/": ""})
	write := func(name, content, state string) map[string]any {
		return map[string]any{"path": name, "content": content, "if_sha256": state}
	}
	one, two := replace.HexSum([]byte("one")), replace.HexSum([]byte("two"))

	err := fails(t, s, "fs.write", write("f", "two", two), dispatch.StateError, "read it again")
	assert.Equal(t, details[string](t, err, "sha256"), one)
	err = fails(t, s, "fs.write", write("f", "two", "absent"), dispatch.StateError, "")
	assert.Equal(t, details[string](t, err, "sha256"), one)
	err = fails(t, s, "fs.write", write("new", "two", one), dispatch.StateError, "")
	assert.Equal(t, details[string](t, err, "sha256"), "absent")
	fails(t, s, "fs.write", write("d", "two", "absent"), dispatch.StateError, "is a directory")
	assert.Equal(t, s.content(t, "f"), "one")
	assert.DeepEqual(t, s.names(t), []string{"d", "f"})

	assert.Equal(t, run[WriteOutput](t, s, "fs.write",
		write("f", "two", strings.ToUpper(one))).SHA256, two)
	assert.Equal(t, run[WriteOutput](t, s, "fs.write", write("new", "two", "absent")).Created, true)
	assert.Equal(t, s.content(t, "f")+s.content(t, "new"), "twotwo")
	assert.DeepEqual(t, s.names(t), []string{"d", "f", "new"})
}

// Of many calls with the same if_sha256, one wins, by whatever name and through overlapping roots.
func TestWriteRace(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"d/f": "start"})
	names := []string{"d/f", s.alias(t, "l", "d/f"), s.alias(t, "dl", "d") + "/f"}
	tree := s.names(t)
	s.open(t, Root{"main", s.dir}, Root{"sub", filepath.Join(s.dir, "d")})
	for round := range 20 {
		state := replace.HexSum([]byte(s.content(t, "d/f")))
		if round%2 == 1 {
			assert.NilError(t, os.Remove(filepath.Join(s.dir, "d/f")))
			state = "absent"
		}
		var wins atomic.Int32
		var winner atomic.Value
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range 12 {
			args := map[string]any{"content": fmt.Sprint(round, " ", i), "if_sha256": state,
				"path": names[i%3]}
			if i%4 == 0 {
				args["path"], args["instance"] = "f", "sub"
			}
			all.Go(func() {
				<-start
				envelope := s.dispatch(t.Context(), "fs.write", args)
				if envelope.Err == nil {
					wins.Add(1)
					winner.Store(args["content"])
				} else if envelope.Err.Code != dispatch.StateError {
					t.Error(envelope.Err)
				}
			})
		}
		close(start)
		all.Wait()
		assert.Equal(t, wins.Load(), int32(1))
		assert.Equal(t, s.content(t, "d/f"), winner.Load())
	}
	assert.DeepEqual(t, s.names(t), tree)
}

// Readers see the old or the new content, never a mix.
func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	contents := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 300_000)}
	s := newService(t, map[string]string{"f": contents[0]})
	done := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				envelope := s.dispatch(t.Context(), "fs.read", `{"path":"f","max_bytes":1000000}`)
				if envelope.Err != nil {
					t.Error(envelope.Err)
					return
				}
				text := string(envelope.Data)
				if !slices.ContainsFunc(contents,
					func(c string) bool { return strings.Contains(text, c) }) {
					t.Error("a mixture was read")
				}
			}
		}
	})
	for i := range 20 {
		run[WriteOutput](t, s, "fs.write", map[string]any{"path": "f", "content": contents[i%2]})
	}
	close(done)
	readers.Wait()
}

// A call cancelled during writing leaves no file.
func TestWriteCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "old"})
	in := WriteInput{Path: "f", Content: strings.Repeat("n", 1<<20)}
	_, err := s.roots.write(hookContext{t.Context(), after(5, cancelled)}, in)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, s.content(t, "f"), "old")
	assert.DeepEqual(t, s.names(t), []string{"f"})
}

// A change by another program during the write is detected.
func TestWriteChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "old"})
	change := func() error {
		s.put(t, "f", "theirs")
		return nil
	}
	content := strings.Repeat("n", 1<<20)
	checkStale := func(err error) {
		t.Helper()
		assert.ErrorIs(t, err, dispatch.StateError)
		assert.Equal(t, s.content(t, "f"), "theirs")
		assert.DeepEqual(t, s.names(t), []string{"f"})
	}
	_, err := s.roots.write(hookContext{t.Context(), after(10, change)},
		WriteInput{Path: "f", Content: content, IfSHA256: replace.HexSum([]byte("old"))})
	checkStale(err)
	assert.NilError(t, os.Remove(filepath.Join(s.dir, "f")))
	_, err = s.roots.write(hookContext{t.Context(), after(10, change)},
		WriteInput{Path: "f", Content: content, IfSHA256: "absent"})
	checkStale(err)
	s.put(t, "f", "mine")
	_, err = s.roots.edit(hookContext{t.Context(), after(10, change)},
		EditInput{Path: "f", Old: "mine", New: content})
	checkStale(err)
}
