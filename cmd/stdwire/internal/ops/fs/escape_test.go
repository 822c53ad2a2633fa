package fs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// An operationCall is an operation and its arguments, with % for a path.
type operationCall struct{ name, args string }

// calls are the calls of operations that need more than their examples to reach a file.
var calls = []operationCall{
	{"fs.read", `{"path":%}`},
	{"fs.list", `{"path":%,"recursive":true}`},
	{"fs.stat", `{"path":%}`},
	{"fs.search", `{"path":%,"pattern":"."}`},
	{"fs.write", `{"path":%,"content":"pwned"}`},
	{"fs.write", `{"path":%,"content":"pwned","create_dirs":true,"if_sha256":"absent"}`},
	{"fs.edit", `{"path":%,"old":"secret","new":"pwned"}`},
	{"fs.move", `{"from":%,"to":"stolen","overwrite":true}`},
	{"fs.move", `{"from":"mine","to":%,"overwrite":true,"create_dirs":true}`},
	{"fs.delete", `{"path":%,"recursive":true}`},
}

// newJail returns a service on a directory in, next to a directory out with files that must not be
// reached. checkOutside checks that nothing outside of in has changed.
func newJail(t *testing.T, links map[string]string) (s *service, checkOutside func()) {
	t.Helper()
	outer := &service{dir: t.TempDir()}
	outer.put(t, "out/file", "secret")
	outer.put(t, "out/dir/file", "secret")
	outer.put(t, "out/dir/secret.txt", "secret") // its name would appear in a list
	outer.put(t, "in/mine", "mine")
	for name, target := range links {
		outer.put(t, "in/"+name, "-> "+
			strings.ReplaceAll(target, "$OUT", filepath.Join(outer.dir, "out")))
	}
	s = &service{dir: filepath.Join(outer.dir, "in")}
	s.open(t, Root{"main", s.dir})
	return s, func() {
		t.Helper()
		outside := slices.DeleteFunc(outer.names(t),
			func(name string) bool { return strings.HasPrefix(name, "in/") })
		assert.DeepEqual(t, outside,
			strings.Fields("in out out/dir out/dir/file out/dir/secret.txt out/file"))
		assert.Equal(t, outer.content(t, "out/file")+outer.content(t, "out/dir/file"),
			"secretsecret")
	}
}

// notPaths are the texts among the inputs that name no file.
var notPaths = strings.Fields("content cursor encoding exclude glob if_sha256 instance new old " +
	"pattern")

// operations are calls, and for every other text that an operation takes, its first example with a
// path in place of the text: whatever it is, it must not lead out of a root.
var operations = sync.OnceValue(func() []operationCall {
	roots, err := OpenRoots([]Root{{"main", "."}})
	if err != nil {
		panic(err)
	}
	defer roots.Close()
	catalog := dispatch.NewCatalog(dispatch.GateWrite, dispatch.GateExec, dispatch.GateEval)
	if err := Register(catalog, roots); err != nil {
		panic(err)
	}
	all := slices.Clone(calls)
	for _, op := range catalog.Operations() {
		var schema struct {
			Properties map[string]struct{ Type any } `json:"properties"`
		}
		if err := json.Unmarshal(op.Spec().Input, &schema); err != nil {
			panic(err)
		}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			property := schema.Properties[name]
			isCalled := slices.ContainsFunc(calls, func(c operationCall) bool {
				return c.name == op.Name() && strings.Contains(c.args, strconv.Quote(name)+":%")
			})
			if isCalled || slices.Contains(notPaths, name) || property.Type == "integer" ||
				property.Type == "boolean" {
				continue
			}
			args := map[string]json.RawMessage{}
			for _, example := range op.Spec().Examples[:min(1, len(op.Spec().Examples))] {
				if err := json.Unmarshal(example.Input, &args); err != nil {
					panic(err)
				}
			}
			args[name] = json.RawMessage(`"PATH"`)
			text, err := json.Marshal(args)
			if err != nil {
				panic(err)
			}
			all = append(all, operationCall{op.Name(),
				strings.ReplaceAll(string(text), `"PATH"`, "%")})
		}
	}
	return all
})

// Every operation of the package is called.
func TestEscapesOfEveryOperation(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	for _, op := range s.dispatcher.Catalog().Operations() {
		assert.Check(t, slices.ContainsFunc(operations(), func(c operationCall) bool {
			return c.name == op.Name()
		}), "%s takes no path: nothing tests its confinement", op.Name())
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	for _, path := range append([]string{
		"../out/file", "..", "../", "../in/mine", "d/../../out/file", "./../out/dir", "/etc/passwd",
		"/", "$OUT/file", "//x",
	}, systemEscapes...) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			escape(t, path, nil)
		})
	}
}

func TestEscapesByLinks(t *testing.T) {
	t.Parallel()
	needLinks(t)
	links := map[string]string{
		"rel": "../out/file", "abs": "$OUT/file", "reldir": "../out", "absdir": "$OUT/dir",
		"up":    "..",
		"chain": "chain2", "chain2": "d/chain3", "d/chain3": "../../out/file", "dir": "d/updir",
		"d/updir": "../../out/dir",
		"new":     "../out/new", "newabs": "$OUT/new", "proc": "/proc/self/root",
		"self": "../in/mine", // leads out and in again
	}
	for _, path := range []string{
		"rel", "abs", "chain", "chain2", "d/chain3", "new", "newabs", "self",
		"reldir/file", "absdir/file", "up/out/file", "dir/file", "reldir/dir/file", "reldir/new",
		"absdir/new", "dir/new/new", "proc/etc/passwd",
		"reldir", "absdir", "up", "dir", "proc", "up/../up/out/file", "d/updir/file",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			escape(t, path, links)
		})
	}
}

// escape calls every operation with a path that leads out of a root with these links.
func escape(t *testing.T, path string, links map[string]string) {
	t.Helper()
	for _, op := range operations() {
		s, checkOutside := newJail(t, links)
		name := strings.ReplaceAll(path, "$OUT", filepath.Join(filepath.Dir(s.dir), "out"))
		quoted, err := json.Marshal(name)
		assert.NilError(t, err)
		envelope := s.dispatch(t.Context(), op.name,
			strings.ReplaceAll(op.args, "%", string(quoted)))
		checkOutside()
		if envelope.Err != nil {
			assert.Equal(t, envelope.Err.Code, dispatch.PermissionDenied, "%s: %v", op.name,
				envelope.Err)
			assert.Assert(t,
				!strings.Contains(strings.ReplaceAll(envelope.Err.Message, name, ""), s.dir),
				envelope.Err.Message)
			continue
		}
		// Operations on the link itself succeed.
		_, isLink := links[filepath.ToSlash(filepath.Clean(name))]
		assert.Assert(t, isLink &&
			slices.Contains([]string{"fs.stat", "fs.move", "fs.delete"}, op.name), "%s: %s",
			op.name, envelope.Data)
	}
}

// Links that stay inside are followed.
func TestLinksInside(t *testing.T) {
	t.Parallel()
	s := newService(t,
		map[string]string{"a/b/file": "x", "c/l": "-> ../a/./b", "c/m": "-> l/../b/file",
			"top": "-> c/l/file"})
	for _, name := range []string{"c/l/file", "c/m", "top", "a/b/../b/file", "c/l/../../a/b/file"} {
		assert.Equal(t, run[ReadOutput](t, s, "fs.read", map[string]string{"path": name}).Content,
			"x")
		assert.Equal(t, run[WriteOutput](t, s, "fs.write",
			map[string]string{"path": name, "content": "x"}).Path, "a/b/file")
	}
}

// A directory alternates with a link to the outside, while every operation is tried on its files.
func TestEscapeRace(t *testing.T) {
	t.Parallel()
	needLinks(t)
	s, checkOutside := newJail(t, nil)
	out := filepath.Join(filepath.Dir(s.dir), "out")
	jail, err := os.OpenRoot(s.dir)
	assert.NilError(t, err)
	defer jail.Close()

	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// The operations move and delete these too, so that each step may fail; the next round
			// starts over.
			_ = jail.RemoveAll("old")
			_ = jail.MkdirAll("next/dir", 0o777)
			_ = jail.WriteFile("next/file", []byte("inside"), 0o666)
			_ = jail.WriteFile("next/dir/file", []byte("inside"), 0o666)
			_ = jail.WriteFile("mine", nil, 0o666)
			_ = jail.RemoveAll("swapped")
			_ = jail.Rename("next", "swapped")
			for range 50 {
				runtime.Gosched()
			}
			_ = jail.Rename("swapped", "old")
			_ = jail.Symlink(out, "swapped")
		}
	})
	counts, all := map[dispatch.Code]int{}, operations()
	for i := 0; i < 3000 || i < 1_000_000 &&
		(counts[""] < 50 || counts[dispatch.PermissionDenied] < 50); i++ {
		op := all[i%len(all)]
		path := []string{"swapped/file", "swapped/dir/file", "swapped/dir",
			"swapped/new"}[i/len(all)%4]
		envelope := s.dispatch(t.Context(), op.name,
			strings.ReplaceAll(op.args, "%", fmt.Sprintf("%q", path)))
		if strings.Contains(string(envelope.Data), "secret") {
			t.Fatalf("%s: %s", op.name, envelope.Data)
		}
		code := dispatch.Code("")
		if envelope.Err != nil {
			code = envelope.Err.Code
		}
		if code == dispatch.InternalError || code == dispatch.UpstreamError {
			t.Errorf("%s: %v: %v", op.name, envelope.Err, envelope.Err.Unwrap())
		}
		counts[code]++
	}
	close(done)
	swapper.Wait()
	t.Log(counts)
	assert.Assert(t, counts[""] >= 50 &&
		counts[dispatch.PermissionDenied] >= 50, "the directory was not seen as both: %v", counts)
	checkOutside()
}
