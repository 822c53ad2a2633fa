package output

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

func TestFileNames(t *testing.T) {
	for _, tt := range []struct{ uri, mimeType, want string }{
		{"file:///a/b/logo.png", "image/png", "logo.png"},
		{"file:///a/b/logo", "image/png", "logo.png"},
		{"demo://resource/dynamic/blob/1", "application/octet-stream", "1.bin"},
		{"demo://resource/1?x=/y.sh#/z.sh", "", "1.bin"},
		{"https://example.com", "text/html", "example.com"},
		{"https://example.com/", "", "example.com"},
		{"mem:one", "application/x-tar", "one.tar"},
		{"urn:isbn:0451450523", "image/jpeg; q=1", "isbn_0451450523.jpg"},
		{"file:///a/..", "", "unnamed.bin"},
		{"file:///a/%2e%2e%2fetc%2fpasswd", "", "passwd.bin"},
		{"file:///a/..%5c..%5cboot.ini", "", "boot.ini"},
		{"file:///C:%5Cx:stream", "", "C__x_stream.bin"},
		{"file:///.bashrc", "", "bashrc.bin"},
		{"file:///a%00b%1b%5b2J.png", "", "a_b__2J.png"},
		{"file:///Gr%C3%BC%C3%9Fe.txt", "", "Grüße.txt"},
		{"\x00://", "", "unnamed.bin"},
		{"", "image/svg+xml", "unnamed.svg"},
		{"a", "audio/mpeg", "a.mp3"},
		{"a", "video/mp4", "a.mp4"},
		{"a", "application/vnd.some.long-thing", "a.bin"},
		{"a", "image/../../x", "a.bin"},
		{"x:///v1.2", "image/gif", "v1.2.gif"},
		{"x:///a.JPEG", "image/png", "a.JPEG"},
		{"x:///con", "image/png", "con_.png"},
		{"x:///NUL.txt", "", "NUL_.txt"},
		{"x:///a.", "", "a.bin"},
	} {
		assert.Equal(t, resourceFile(tt.uri, tt.mimeType), tt.want, tt.uri)
	}
	assert.Equal(t, fileName("fs.read-1", "image/png"), "fs.read-1.png")
	long := fileName(strings.Repeat("ü", 300)+".png", "")
	assert.Assert(t, len(long) <= 100 && utf8.ValidString(long) &&
		strings.HasSuffix(long, "ü.png"), long)
}

// A saved file may be as private as its source: only its owner can read it, whatever the umask.
func TestSavedFilesArePrivate(t *testing.T) {
	if !atomicfile.Permissions {
		t.Skip("this system has no file permissions")
	}
	s, err := OpenSaver(t.TempDir())
	assert.NilError(t, err)
	defer s.Close()
	path, err := s.write("a.png", []byte("x"))
	assert.NilError(t, err)
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
}

func TestSaver(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	assert.NilError(t, os.WriteFile(outside, []byte("precious"), 0o600))
	s, err := OpenSaver(filepath.Join(dir, "new", "saved")) // created
	assert.NilError(t, err)
	defer s.Close()
	taken := filepath.Join(s.dir, "a.png")
	if err := os.Symlink(outside, taken); err != nil {
		assert.Equal(t, runtime.GOOS, "windows", "%v", err)
	}
	if _, err := os.Lstat(taken); err != nil {
		// on Windows only some users may make links, and Wine makes none
		assert.Equal(t, runtime.GOOS, "windows", "%v", err)
		assert.NilError(t, os.WriteFile(taken, []byte("precious"), 0o600))
	}

	for i, want := range []string{"a-2.png", "a-3.png", "a-4.png"} {
		path, err := s.write("a.png", []byte{byte(i)})
		assert.NilError(t, err)
		assert.Equal(t, path, filepath.Join(s.dir, want))
		got, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, []byte{byte(i)})
	}
	for _, name := range []string{"../x", "/etc/x", "no/such/dir", ""} {
		_, err = s.write(name, nil)
		assert.ErrorContains(t, err, "was not saved in "+s.dir, name)
		assert.Equal(t, err.(*command.Failure).ExitCode(), 1)
	}
	for _, path := range []string{outside, taken} {
		left, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.Equal(t, string(left), "precious")
	}

	_, err = OpenSaver(filepath.Join(outside, "x"))
	assert.ErrorContains(t, err, "--save: ")
	assert.Equal(t, err.(*command.Failure).ExitCode(), 2)
	none, err := OpenSaver("")
	assert.NilError(t, err)
	assert.Assert(t, none == nil)
	none.Close()
}
