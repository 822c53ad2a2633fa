package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

const manifest = `{
  "manifest_version": "0.3", "name": "weather", "version": "1.0.0", "description": "Weather",
  "author": {"name": "Ada"},
  "server": {"type": "binary", "entry_point": "server/run", "mcp_config": {
    "command": "${__dirname}/server/run", "args": ["--key", "${user_config.key}", "${user_config.dirs}", "-v"],
    "env": {"HOME_IS": "${HOME}${/}x", "N": "${user_config.n}"},
    "platform_overrides": {"plan9": {"command": "rc", "args": []}}}},
  "user_config": {
    "key": {"type": "string", "title": "Key", "description": "The key", "required": true, "sensitive": true},
    "dirs": {"type": "directory", "title": "Dirs", "description": "Directories", "multiple": true, "default": ["${HOME}/a"]},
    "n": {"type": "number", "title": "N", "description": "Number", "default": 3, "min": 1, "max": 5}}
}`

func files() fstest.MapFS {
	return fstest.MapFS{
		ManifestName:      {Data: []byte(manifest), Mode: 0o600},
		"server/run":      {Data: []byte("#!/bin/sh\n"), Mode: 0o600},
		"server/lib/a.js": {Data: []byte("a"), Mode: 0o755},
		".git/config":     {Data: []byte("x")}, "node_modules/.env": {Data: []byte("secret")},
		"old.mcpb": {Data: []byte("x")}, "docs/x.md": {Data: []byte("x")},
	}
}

// smallLimits are limits that tests can exceed.
var smallLimits = Limits{Files: 10, Total: 3 << 20, Archive: 1 << 20, Manifest: 4 << 10, Ratio: 100}

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.mcpb")
	assert.NilError(t, os.WriteFile(path, data, 0o600))
	return path
}

// What is created can be opened and extracted, and is the same each time.
func TestCreate(t *testing.T) {
	var first, second bytes.Buffer
	names, err := Create(t.Context(), &first, files(), []string{"docs"}, smallLimits)
	assert.NilError(t, err)
	assert.DeepEqual(t, names, []string{ManifestName, "server/lib/a.js", "server/run"})
	_, err = Create(t.Context(), &second, files(), []string{"*.md"}, smallLimits)
	assert.NilError(t, err)
	assert.Assert(t, bytes.Equal(first.Bytes(), second.Bytes()))

	b, err := Open(write(t, first.Bytes()), smallLimits)
	assert.NilError(t, err)
	defer b.Close()
	assert.Equal(t, b.Manifest.Name, "weather")
	assert.Equal(t, string(b.Raw), manifest)
	parent := filepath.Join(t.TempDir(), "new", "bundles")
	dir, err := b.Extract(t.Context(), parent)
	assert.NilError(t, err)
	assert.Equal(t, dir, filepath.Join(parent, b.Digest))
	text, err := os.ReadFile(filepath.Join(dir, "server", "run"))
	assert.NilError(t, err)
	assert.Equal(t, string(text), "#!/bin/sh\n")
	if runtime.GOOS != "windows" {
		for name, mode := range map[string]fs.FileMode{"server/run": 0o700, "server/lib/a.js": 0o700,
			ManifestName: 0o600} {
			info, err := os.Stat(filepath.Join(dir, name))
			assert.NilError(t, err)
			assert.Equal(t, info.Mode().Perm(), mode, name)
		}
	}
	again, err := b.Extract(t.Context(), parent)
	assert.NilError(t, err)
	assert.Equal(t, again, dir)
	entries, err := os.ReadDir(parent)
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 1)
}

func TestCreateRefuses(t *testing.T) {
	for _, tt := range []struct {
		change func(fstest.MapFS)
		want   string
	}{
		{func(f fstest.MapFS) { delete(f, ManifestName) }, "manifest.json: file does not exist"},
		{func(f fstest.MapFS) { delete(f, "server/run") }, `the entry point "server/run" is not in the bundle`},
		{func(f fstest.MapFS) { f["link"] = &fstest.MapFile{Mode: fs.ModeSymlink} }, `"link" is neither a file nor a directory`},
		{func(f fstest.MapFS) { f["server/RUN"] = &fstest.MapFile{} }, `is there twice`},
		{func(f fstest.MapFS) { f["con.txt"] = &fstest.MapFile{} }, `"con.txt" cannot be a file on Windows`},
		{func(f fstest.MapFS) { f["a:b"] = &fstest.MapFile{} }, `"a:b" is not the name of a file`},
		{func(f fstest.MapFS) { f["big"] = &fstest.MapFile{Data: make([]byte, 4<<20)} }, "over the limit"},
		{func(f fstest.MapFS) {
			for _, c := range "abcdefghijkl" {
				f[string(c)] = &fstest.MapFile{}
			}
		}, "over the limit: there are more than 10 files"},
		{func(f fstest.MapFS) { f["a/b/c/d/e/f/g/h"] = &fstest.MapFile{} },
			"over the limit: there are more than 10 files and directories"},
	} {
		f := files()
		tt.change(f)
		_, err := Create(t.Context(), new(bytes.Buffer), f, nil, smallLimits)
		assert.Check(t, err != nil && strings.Contains(err.Error(), tt.want), "%v\nwant %s", err, tt.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Create(ctx, new(bytes.Buffer), files(), nil, smallLimits)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Create(t.Context(), new(bytes.Buffer), files(), []string{"["}, smallLimits)
	assert.ErrorContains(t, err, `the pattern "["`)
}

func TestIgnorePatterns(t *testing.T) {
	got, err := IgnorePatterns([]byte("# x\n\n*.md\r\n/build/\ndir/*.o\n"))
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []string{"*.md", "build", "dir/*.o"})
	for _, text := range []string{"!x", "a/**/b", "["} {
		_, err := IgnorePatterns([]byte(text))
		assert.Check(t, err != nil, text)
	}
}

// An entry of an archive that a test writes.
type entry struct {
	name string
	data string
	mode fs.FileMode
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range append([]entry{{ManifestName, manifest, 0o644}, {"server/run", "x", 0o755}},
		entries...) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		assert.NilError(t, err)
		_, err = w.Write([]byte(e.data))
		assert.NilError(t, err)
	}
	assert.NilError(t, z.Close())
	return b.Bytes()
}

// A bundle of a stranger that would write elsewhere, or fill the disk, is refused.
func TestHostile(t *testing.T) {
	many := make([]entry, 20)
	for i := range many {
		many[i] = entry{string(rune('a' + i)), "", 0o644}
	}
	for _, tt := range []struct {
		entries []entry
		want    string
	}{
		{[]entry{{"../evil", "x", 0o644}}, `"../evil" is not the name of a file`},
		{[]entry{{"/etc/passwd", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"a/../../b", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{`a\..\..\b`, "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"C:/x", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"a//b", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"./a", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"a\x00b", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"a\nb", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{strings.Repeat("a/", 600) + "b", "x", 0o644}}, "is not the name of a file"},
		{[]entry{{"NUL", "x", 0o644}}, "cannot be a file on Windows"},
		{[]entry{{"a. ", "x", 0o644}}, "cannot be a file on Windows"},
		{[]entry{{"link", "/etc", fs.ModeSymlink | 0o777}, {"link/x", "x", 0o644}},
			`"link" is neither a file nor a directory`},
		{[]entry{{"pipe", "", fs.ModeNamedPipe}}, "neither a file nor a directory"},
		{[]entry{{"dir", "", fs.ModeDir | 0o755}}, "neither a file nor a directory"},
		{[]entry{{"a", "1", 0o644}, {"A", "2", 0o644}}, `"A" is there twice`},
		{[]entry{{"a", "1", 0o644}, {"a/b", "2", 0o644}}, `"a/b" is below a file`},
		{[]entry{{"a/b", "1", 0o644}, {"a", "2", 0o644}}, `"a" is there twice`},
		{[]entry{{ManifestName, "{}", 0o644}}, `"manifest.json" is there twice`},
		{[]entry{{"zeros", strings.Repeat("\x00", 2<<20), 0o644}}, `over the limit: "zeros" is compressed`},
		{[]entry{{"a", random(2 << 20), 0o644}}, "over the limit: it has"},
		{many, "over the limit: it has 22 files"},
		{[]entry{{"a/b/c/d/e/f/g/h", "x", 0o644}}, "over the limit: there are more than 10 files and " +
			"directories"},
	} {
		_, err := Open(write(t, archive(t, tt.entries...)), smallLimits)
		assert.Check(t, err != nil && strings.Contains(err.Error(), tt.want), "%.60v: %v\nwant %s",
			tt.entries, err, tt.want)
	}
	large := smallLimits
	large.Archive, large.Ratio = 1<<30, 1<<30
	_, err := Open(write(t, archive(t, entry{"a", strings.Repeat("x", 4<<20), 0o644})), large)
	assert.ErrorIs(t, err, ErrLimit)
	for _, data := range []string{"", "PK\x03\x04", "#!/bin/sh\n", string(archive(t)[:100])} {
		_, err := Open(write(t, []byte(data)), smallLimits)
		assert.ErrorContains(t, err, "this is not a bundle")
	}
	_, err = Open(t.TempDir(), smallLimits)
	assert.Assert(t, err != nil)
	_, err = Open("missing", smallLimits)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// The list of files at the end of an archive is read within a limit: neither the number of files
// nor the size of the list that the archive declares need be true.
func TestLargeDirectory(t *testing.T) {
	entry := make([]byte, 46)
	copy(entry, "PK\x01\x02")
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	data := bytes.Repeat(entry, 200_000)
	binary.LittleEndian.PutUint16(end[8:], uint16(200_000&0xffff))
	binary.LittleEndian.PutUint16(end[10:], uint16(200_000&0xffff))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(data)))
	limits := smallLimits
	limits.Archive = 1 << 30
	path := write(t, append(data, end...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(path, limits)
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, err, ErrLimit)
	assert.Assert(t, after.TotalAlloc-before.TotalAlloc < 4<<20)
}

// random returns text that cannot be compressed.
func random(n int) string {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		b[i] = byte(state)
	}
	return string(b)
}

// Sizes and checksums that the archive declares may be wrong.
func TestWrongDeclaration(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range []entry{{ManifestName, manifest, 0o644}, {"server/run", "x", 0o755}} {
		w, err := z.Create(e.name)
		assert.NilError(t, err)
		_, err = w.Write([]byte(e.data))
		assert.NilError(t, err)
	}
	w, err := z.CreateRaw(&zip.FileHeader{Name: "lie", Method: zip.Store, CRC32: 7,
		CompressedSize64: 4, UncompressedSize64: 4})
	assert.NilError(t, err)
	_, err = w.Write([]byte("abcd"))
	assert.NilError(t, err)
	assert.NilError(t, z.Close())
	opened, err := Open(write(t, b.Bytes()), smallLimits)
	assert.NilError(t, err)
	defer opened.Close()
	parent := t.TempDir()
	_, err = opened.Extract(t.Context(), parent)
	assert.ErrorIs(t, err, zip.ErrChecksum)
	entries, err := os.ReadDir(parent)
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 0) // nothing is left

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = opened.Extract(ctx, parent)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestManifest(t *testing.T) {
	change := func(from, to string) string {
		assert.Assert(t, strings.Contains(manifest, from), from)
		return strings.Replace(manifest, from, to, 1)
	}
	for _, tt := range []struct{ text, want string }{
		{"{", "is not JSON"}, {"[]", "is not JSON"},
		{change(`"0.3"`, `"9"`), "manifest_version must be"},
		{change(`"name": "weather"`, `"name": ""`), "name must have"},
		{change(`"binary"`, `"shell"`), "server.type must be"},
		{change(`"author"`, `"autor"`), "author"},
		{change(`"server/run"`, `"../run"`), "is not a path within the bundle"},
		{change(`"server/run"`, `"/run"`), "is not a path within the bundle"},
		{change(`"--key"`, `"a\u0000b"`), "server.mcp_config.args[0]"},
		{change(`"N":`, `"A=B":`), "server.mcp_config.env: "},
		{change(`"title": "N",`, ``), "user_config.n: "},
	} {
		_, err := ParseManifest([]byte(tt.text))
		assert.Check(t, err != nil && strings.Contains(err.Error(), tt.want), "%v\nwant %s", err, tt.want)
	}
	_, err := ParseManifest([]byte("\uFEFF" + manifest))
	assert.NilError(t, err)
	m, err := ParseManifest([]byte(change("manifest_version", "dxt_version")))
	assert.NilError(t, err)
	assert.Equal(t, m.Version, "0.3")
}

func TestResolve(t *testing.T) {
	m, err := ParseManifest([]byte(manifest))
	assert.NilError(t, err)
	launch, err := m.Resolve("/b", "/home/ada", map[string][]string{"key": {"${HOME}"},
		"dirs": {"/x y", "/z"}})
	assert.NilError(t, err)
	assert.DeepEqual(t, launch, &Launch{Command: "/b/server/run",
		Args: []string{"--key", "${HOME}", "/x y", "/z", "-v"}, // values are not expanded
		Env:  map[string]string{"HOME_IS": "/home/ada" + string(filepath.Separator) + "x", "N": "3"}})
	assert.DeepEqual(t, m.Server.Config.For("plan9").Args, []string{})
	for _, tt := range []struct {
		given map[string][]string
		want  string
	}{
		{nil, "values that it needs are missing: key"},
		{map[string][]string{"ky": {"secret"}}, `asks for no value "ky"; it asks for dirs, key, n`},
		{map[string][]string{"key": {"secret", "secret2"}}, `the value "key" is given 2 times`},
		{map[string][]string{"key": {"secret\x00"}}, `the value "key" is empty or has a null byte`},
		{map[string][]string{"key": {""}}, `the value "key" is empty`},
		{map[string][]string{"key": {"x"}, "n": {"secret"}}, `the value "n" must be a number`},
		{map[string][]string{"key": {"x"}, "n": {"6"}}, `the value "n" is out of range`},
	} {
		_, err := m.Resolve("/b", "/home/ada", tt.given)
		assert.Check(t, err != nil && strings.Contains(err.Error(), tt.want), "%v\nwant %s", err, tt.want)
		assert.Check(t, !strings.Contains(err.Error(), "secret"), err)
	}
	m.Server.Config.Args = []string{"x${user_config.dirs}"}
	_, err = m.Resolve("/b", "/h", map[string][]string{"key": {"x"}, "dirs": {"a", "b"}})
	assert.ErrorContains(t, err, "has several values")
	m.Server.Config.Args = []string{"${PATH}"}
	_, err = m.Resolve("/b", "/h", map[string][]string{"key": {"x"}})
	assert.ErrorContains(t, err, `there is no variable "${PATH}"`)
	var missing *MissingError
	_, err = m.Resolve("/b", "/h", nil)
	assert.Assert(t, errors.As(err, &missing))
}

// A file is either refused or extracted within its directory, whatever it contains.
func FuzzExtract(f *testing.F) {
	var b bytes.Buffer
	_, err := Create(f.Context(), &b, files(), nil, smallLimits)
	assert.NilError(f, err)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		path := write(t, data)
		b, err := Open(path, smallLimits)
		if err != nil {
			return
		}
		defer b.Close()
		parent := t.TempDir()
		dir, err := b.Extract(t.Context(), filepath.Join(parent, "in"))
		entries, _ := os.ReadDir(parent)
		assert.Equal(t, len(entries), 1)
		if err != nil {
			return
		}
		assert.NilError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			assert.Check(t, d.IsDir() || d.Type().IsRegular(), path)
			return err
		}))
	})
}
