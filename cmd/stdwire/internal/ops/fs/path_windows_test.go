package fs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// Names that Windows maps to another file, a stream or a device are refused.
func TestNamesThatWindowsDoesNotAllow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"mine.", "mine ", "mine..", "mine. .", "dir./mine", "dir /mine", "...", // ends
		`dir\mine.`, "dir/.. /x",
		"mine:stream", "mine::$DATA", "dir:x/mine", "new:", // streams
		"CON", "con", "NUL", "PRN", "AUX", "COM1", "lpt9", "CONIN$", "CONOUT$", // devices
		"dir/NUL", "NUL/x",
		"a?b", "a*b", "a<b", "a>b", "a|b", `a"b`, "a\x01b", "a\nb", // characters
		strings.Repeat("x", 256), strings.Repeat("😀", 128), // lengths
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, checkOutside := newJail(t, nil)
			s.put(t, "dir/mine", "secret")
			quoted, err := json.Marshal(name)
			assert.NilError(t, err)
			for _, op := range operations() {
				args := strings.ReplaceAll(op.args, "%", string(quoted))
				fails(t, s, op.name, args, dispatch.InvalidInput, "")
			}
			_, err = s.roots.OpenDir("", name)
			assert.ErrorIs(t, err, dispatch.InvalidInput)
			assert.DeepEqual(t, s.names(t), strings.Fields("dir dir/mine mine"))
			assert.Equal(t, s.content(t, "mine")+s.content(t, "dir/mine"), "minesecret")
			checkOutside()
		})
	}
	s := newService(t, nil)
	for name, why := range map[string]string{
		"f.": "it ends with a dot or a space", "file:stream": `it holds one of <>:"|?*`,
		"NUL": "it is the name of a device", "a\tb": "it holds a control character",
	} {
		fails(t, s, "fs.read", map[string]string{"path": name}, dispatch.InvalidInput, why)
	}
}

// A link to such a name is refused as well.
func TestLinksToNamesThatWindowsDoesNotAllow(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"mine": "mine"})
	for link, target := range map[string]string{
		"dot": "mine.", "stream": "./mine:stream", "device": `.\NUL`,
	} {
		s.put(t, link, "-> "+target)
		args := map[string]any{"path": link, "content": "x"}
		fails(t, s, "fs.write", args, dispatch.InvalidInput, "Windows does not allow the name")
	}
	assert.Equal(t, s.content(t, "mine"), "mine")
}

// Similar names, with spaces and dots inside, are valid.
func TestNamesThatWindowsAllows(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	for _, name := range []string{
		".hidden", " f", "a.b c", "console", "COM", "COM10", "nulls", "x~1", "ü", "😀", "[a]{b}",
		strings.Repeat("y", 255),
	} {
		args := map[string]string{"path": name, "content": name}
		assert.Equal(t, run[WriteOutput](t, s, "fs.write", args).Path, name)
		args = map[string]string{"path": name}
		assert.Equal(t, run[ReadOutput](t, s, "fs.read", args).Content, name)
		assert.Equal(t, s.content(t, name), name)
	}
}

// A device name with an extension is a file since Windows 11.
func TestDevicesWithExtensions(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	for _, name := range []string{"NUL.txt", "aux.c", "dir/com1.log"} {
		args := map[string]any{"path": name, "content": "x", "create_dirs": true}
		if !filepath.IsLocal(name) {
			fails(t, s, "fs.write", args, dispatch.InvalidInput, "it is the name of a device")
			continue
		}
		assert.Equal(t, run[WriteOutput](t, s, "fs.write", args).Path, name)
		assert.Equal(t, run[ReadOutput](t, s, "fs.read", map[string]string{"path": name}).Content,
			"x")
	}
}

// Paths may have slashes and backslashes, and names any case. Results have slashes.
func TestPathsOnWindows(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"dir/sub/f": "x\r\ny\r\n"})
	for _, name := range []string{`dir\sub\f`, `dir\sub/f`, `.\dir\..\dir\sub\f`, `dir\\sub\f\`} {
		args := map[string]string{"path": name}
		assert.Equal(t, run[ReadOutput](t, s, "fs.read", args).Path, "dir/sub/f")
		assert.Equal(t, run[StatOutput](t, s, "fs.stat", args).Path, "dir/sub/f")
	}
	args := map[string]any{"path": `dir\`, "recursive": true, "glob": "sub/*"}
	assert.Equal(t, paths(run[ListOutput](t, s, "fs.list", args).Entries), "dir/sub/f")
	args = map[string]any{"pattern": "y$", "path": `dir\sub`}
	searched := run[grep.Output](t, s, "fs.search", args)
	assert.Equal(t, shown(searched.Matches), "dir/sub/f:2:1:y")
	args = map[string]any{"path": `new\d\f`, "content": "", "create_dirs": true}
	assert.Equal(t, run[WriteOutput](t, s, "fs.write", args).Path, "new/d/f")
	moved := run[MoveOutput](t, s, "fs.move", map[string]string{"from": `new\d`, "to": `dir\d`})
	assert.Equal(t, moved.Path, "dir/d")
	args = map[string]any{"path": `dir\d`, "recursive": true}
	assert.Equal(t, run[DeleteOutput](t, s, "fs.delete", args).Path, "dir/d")
	// Line ends are written unchanged.
	args = map[string]any{"path": `DIR\SUB\F`, "old": "x", "new": "z"}
	run[EditOutput](t, s, "fs.edit", args)
	assert.Equal(t, s.content(t, "dir/sub/f"), "z\r\ny\r\n")
	// A name keeps its case until it is moved.
	moved = run[MoveOutput](t, s, "fs.move", `{"from":"dir/sub/f","to":"dir/sub/F"}`)
	assert.DeepEqual(t, moved, MoveOutput{"dir/sub/F", "file", false})
	if !underWine() { // treats this as a move to the same path
		assert.DeepEqual(t, s.names(t), strings.Fields("dir dir/sub dir/sub/F new"))
	}
}

// A directory is not moved into itself, in any case of its name.
func TestMoveIntoItselfInOtherCase(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"a/d/f": "x", "c/": ""})
	for _, to := range []string{"A/D/in", "a/D/in/deep", "A/d/in"} {
		args := map[string]any{"from": "a/d", "to": to, "create_dirs": true}
		fails(t, s, "fs.move", args, dispatch.InvalidInput, `cannot move "a/d" into itself`)
		assert.DeepEqual(t, s.names(t), strings.Fields("a a/d a/d/f c"))
	}
}

// short returns the path of a file in short names, or skips the test if the file system has none.
func (s *service) short(t *testing.T, long string) string {
	t.Helper()
	short, err := filepath.Rel(shortName(t, s.dir), shortName(t, filepath.Join(s.dir, long)))
	assert.NilError(t, err)
	if !strings.Contains(filepath.Base(short), "~") {
		t.Skip("the file system makes no short names")
	}
	return filepath.ToSlash(short)
}

// A file that is written by its short name keeps its long name. Under Wine it always does, so that
// only the path in the result shows it.
func TestWriteByShortName(t *testing.T) {
	t.Parallel()
	const long = "dir/Long Name of a File"
	s := newService(t, map[string]string{long: "old"})
	for _, name := range []string{strings.ToLower(long), `DIR\LONG NAME OF A FILE`} {
		args := map[string]string{"path": name, "content": "written " + name}
		out := run[WriteOutput](t, s, "fs.write", args)
		assert.Equal(t, filepath.Base(out.Path), filepath.Base(long))
		assert.DeepEqual(t, s.names(t), []string{"dir", long})
		assert.Equal(t, s.content(t, long), args["content"])
	}
	args := map[string]string{"path": s.short(t, long), "old": "written", "new": "edited"}
	run[EditOutput](t, s, "fs.edit", args)
	assert.DeepEqual(t, s.names(t), []string{"dir", long})
	assert.Equal(t, s.content(t, long), `edited DIR\LONG NAME OF A FILE`)
}

// Both names of a file have the same content.
func TestMoveBetweenShortAndLongName(t *testing.T) {
	t.Parallel()
	const dir, long = "long name of a directory", "long name of a directory/long name of a file"
	s := newService(t, map[string]string{long: "kept"})
	before := s.names(t)
	for _, names := range [][2]string{{s.short(t, long), long}, {long, s.short(t, long)}} {
		args := map[string]any{"from": names[0], "to": names[1], "overwrite": true}
		assert.Equal(t, run[MoveOutput](t, s, "fs.move", args).Replaced, false)
		assert.Equal(t, len(s.names(t)), len(before))
		assert.Equal(t, run[ReadOutput](t, s, "fs.read",
			map[string]string{"path": names[1]}).Content, "kept")
	}
	args := map[string]string{"from": s.short(t, dir), "to": dir + "/in"}
	fails(t, s, "fs.move", args, dispatch.InvalidInput, "into itself")
}

// Both names of a file share a lock.
func TestLocksOfShortNames(t *testing.T) {
	t.Parallel()
	const long = "long name of a directory/long name of a file.txt"
	s := newService(t, map[string]string{long: ""})
	r, err := s.roots.instances.Get("")
	assert.NilError(t, err)
	relative := s.short(t, long)
	unlock, err := s.roots.locks.Lock(t.Context(), r, long, relative)
	assert.NilError(t, err)
	unlock()
	assert.Equal(t, r.Key(long), r.Key(relative))
	// A new file has no short name, but its directory may.
	assert.Equal(t, r.Key(filepath.Dir(long)+"/new~1"), r.Key(filepath.Dir(relative)+"/new~1"))
	_, err = os.Stat(filepath.Join(s.dir, relative))
	assert.NilError(t, err)
}
