package fs

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// A service calls the operations on a directory as a surface does.
type service struct {
	dir        string
	roots      *Roots
	dispatcher *dispatch.Dispatcher
}

// newService returns the operations on a new directory with files. A name that ends in / is a
// directory, a content that starts with "-> " a symbolic link.
func newService(t testing.TB, files map[string]string) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	for name, content := range files {
		s.put(t, name, content)
	}
	s.open(t, Root{Name: "main", Dir: s.dir})
	return s
}

func (s *service) open(t testing.TB, list ...Root) {
	t.Helper()
	roots, err := OpenRoots(list)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, roots.Close()) })
	s.roots = roots
	catalog := dispatch.NewCatalog(dispatch.GateWrite)
	assert.NilError(t, Register(catalog, roots))
	s.dispatcher = dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(catalog)
}

func (s *service) put(t testing.TB, name, content string) {
	t.Helper()
	full := filepath.Join(s.dir, name)
	assert.NilError(t, os.MkdirAll(filepath.Dir(full), 0o777))
	if target, isLink := strings.CutPrefix(content, "-> "); isLink {
		needLinks(t)
		assert.NilError(t, os.Symlink(target, full))
	} else if strings.HasSuffix(name, "/") {
		assert.NilError(t, os.MkdirAll(full, 0o777))
	} else {
		assert.NilError(t, os.WriteFile(full, []byte(content), 0o644))
	}
}

// canLink reports whether symbolic links can be made. On Windows only some users may, and Wine
// reports success without making one.
func canLink(t testing.TB) bool {
	t.Helper()
	name := filepath.Join(t.TempDir(), "link")
	err := os.Symlink("target", name)
	if err == nil {
		_, err = os.Lstat(name)
	}
	assert.Assert(t, err == nil || runtime.GOOS == "windows", "%v", err)
	return err == nil
}

func needLinks(t testing.TB) {
	t.Helper()
	if !canLink(t) {
		t.Skip("symbolic links cannot be made here")
	}
}

// alias returns another path of a file or directory: through a symbolic link, or in upper case
// where there are no links.
func (s *service) alias(t testing.TB, link, name string) string {
	t.Helper()
	if !canLink(t) {
		return strings.ToUpper(name) // on Windows
	}
	s.put(t, link, "-> "+name)
	return link
}

func (s *service) content(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	assert.NilError(t, err)
	return string(data)
}

// names returns all names in the tree, so that a test sees temporary files left behind.
func (s *service) names(t testing.TB) []string {
	t.Helper()
	var names []string
	assert.NilError(t, filepath.WalkDir(s.dir, func(name string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.dir, name); rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

func (s *service) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, name))
	return err == nil
}

func (s *service) dispatch(ctx context.Context, operation string, args any) dispatch.Envelope {
	text, ok := args.(string)
	if !ok {
		encoded, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		text = string(encoded)
	}
	return s.dispatcher.Dispatch(ctx,
		&dispatch.Call{Operation: operation, Arguments: json.RawMessage(text), Confirmed: true})
}

// run calls an operation, which must succeed, and returns its data.
func run[Out any](t testing.TB, s *service, operation string, args any) Out {
	t.Helper()
	envelope := s.dispatch(t.Context(), operation, args)
	if envelope.Err != nil {
		t.Fatalf("%s %v: %v (%v)", operation, args, envelope.Err, envelope.Err.Unwrap())
	}
	var out Out
	assert.NilError(t, json.Unmarshal(envelope.Data, &out))
	return out
}

// fails calls an operation, which must fail with a code and a message that contains text and no
// path of the host.
func fails(t testing.TB, s *service, operation string, args any, code dispatch.Code,
	text string) *dispatch.Error {
	t.Helper()
	envelope := s.dispatch(t.Context(), operation, args)
	if envelope.Err == nil {
		t.Fatalf("%s %v: succeeded: %s", operation, args, envelope.Data)
	}
	assert.Equal(t, envelope.Err.Code, code, "%v %v", envelope.Err, envelope.Err.Unwrap())
	assert.Assert(t, strings.Contains(envelope.Err.Message, text), envelope.Err.Message)
	assert.Assert(t, !strings.Contains(envelope.Err.Message, s.dir), envelope.Err.Message)
	return envelope.Err
}

// details returns a member of an error's details.
func details[T any](t testing.TB, err *dispatch.Error, member string) T {
	t.Helper()
	encoded, e := json.Marshal(err.Details)
	assert.NilError(t, e)
	var all map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal(encoded, &all))
	var value T
	assert.NilError(t, json.Unmarshal(all[member], &value), string(encoded))
	return value
}
