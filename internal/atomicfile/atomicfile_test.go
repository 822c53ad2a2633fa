package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// nothingElse asserts that a directory has no temporary file left.
func nothingElse(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".stdwire-*"))
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}

// holds asserts the content and mode of a file.
func holds(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(got), content)
	info, err := os.Lstat(path)
	assert.NilError(t, err)
	if Permissions {
		assert.Equal(t, info.Mode(), mode)
	}
	nothingElse(t, filepath.Dir(path))
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	assert.NilError(t, Write(path, []byte("one"), 0o600))
	holds(t, path, "one", 0o600)
	assert.NilError(t, os.Chmod(path, 0o640))
	assert.NilError(t, Write(path, []byte("two"), 0o600))
	holds(t, path, "two", 0o640)
}

func TestWriteThroughALink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	assert.NilError(t, os.WriteFile(path, []byte("one"), 0o640))
	symlink(t, "f", link)
	assert.NilError(t, Write(link, []byte("two"), 0o600))
	holds(t, path, "two", 0o640)
	target, err := os.Readlink(link)
	assert.NilError(t, err)
	assert.Equal(t, target, "f")

	dangling := filepath.Join(dir, "dangling")
	symlink(t, "nowhere", dangling)
	assert.NilError(t, Write(dangling, []byte("x"), 0o600))
	nothingElse(t, dir)
}

// symlink makes a symbolic link, or skips the test: on Windows only some users may, and Wine
// reports success without making one.
func symlink(t *testing.T, target, link string) {
	t.Helper()
	err := os.Symlink(target, link)
	if err == nil {
		_, err = os.Lstat(link)
	}
	if err != nil && runtime.GOOS == "windows" {
		t.Skipf("symbolic links cannot be made here: %v", err)
	}
	assert.NilError(t, err)
}

func TestWriteThatFails(t *testing.T) {
	dir := t.TempDir()
	assert.ErrorIs(t, Write(filepath.Join(dir, "no", "f"), nil, 0o600), fs.ErrNotExist)
	assert.ErrorContains(t, Write(dir, nil, 0o600), "this is not a regular file")
	failed := errors.New("half of it")
	assert.ErrorIs(t, WriteFrom(filepath.Join(dir, "f"), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "ha")
		assert.NilError(t, err)
		return failed
	}), failed)
	nothingElse(t, dir)
}

// Windows, unlike Unix, does not replace or remove an open file.
func TestRetryWhileFileIsOpen(t *testing.T) {
	for name, op := range map[string]func(path string) error{
		"write":  func(path string) error { return Write(path, []byte("new"), 0o600) },
		"rename": func(path string) error { return Rename(path+".new", path) },
		"remove": Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			assert.NilError(t, os.WriteFile(path, []byte("old"), 0o600))
			assert.NilError(t, os.WriteFile(path+".new", []byte("new"), 0o600))
			synctest.Test(t, func(t *testing.T) {
				reader, err := os.Open(path)
				assert.NilError(t, err)
				begin := time.Now()
				err = op(path)
				took := time.Since(begin)
				if runtime.GOOS == "windows" {
					assert.Assert(t, inUse(err), "%v", err)
					assert.Assert(t, took > maxWait/2 && took <= maxWait, "%v", took)
				} else {
					assert.NilError(t, err)
				}
				old, err := io.ReadAll(reader)
				assert.NilError(t, err)
				assert.Equal(t, string(old), "old",
					"whoever has the old one open goes on seeing it")
				assert.NilError(t, reader.Close())
			})
			synctest.Test(t, func(t *testing.T) {
				assert.NilError(t, os.WriteFile(path, []byte("old"), 0o600))
				assert.NilError(t, os.WriteFile(path+".new", []byte("new"), 0o600))
				reader, err := os.Open(path)
				assert.NilError(t, err)
				time.AfterFunc(maxWait/4, func() { _ = reader.Close() })
				assert.NilError(t, op(path))
				time.Sleep(maxWait)
			})
			nothingElse(t, filepath.Dir(path))
		})
	}
}

// Of many concurrent moves to one name, one succeeds.
func TestMove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var moved atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		from := filepath.Join(dir, fmt.Sprint(i))
		assert.NilError(t, os.WriteFile(from, []byte(from), 0o600))
		all.Go(func() {
			err := Move(from, path)
			if err == nil {
				moved.Add(1)
				return
			}
			assert.Check(t, errors.Is(err, fs.ErrExist), "%v", err)
			_, err = os.Stat(from)
			assert.Check(t, err, "it stays where it is")
		})
	}
	all.Wait()
	assert.Equal(t, moved.Load(), int64(1))
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 20)
	assert.ErrorIs(t, Move(filepath.Join(dir, "none"), path+"2"), fs.ErrNotExist)
}

// Windows reserves some names for devices, with any extension, and drops dots at the end.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a.b.txt": "a.b.txt", "Con": "Con_", "nul.txt": "nul_.txt",
		"AUX.tar.gz": "AUX_.tar.gz", "com1": "com1_",
		"LPT9.json": "LPT9_.json", "COM10": "COM10", "console": "console", "xcon": "xcon",
		"a.con": "a.con", "com": "com",
		"f.": "f._", "f..": "f.._", "prn.": "prn_._", "": "",
	} {
		assert.Equal(t, Name(name), want, name)
		if want != "" {
			assert.Assert(t, filepath.IsLocal(Name(name)), name)
		}
	}
}

// Other errors are not retried.
func TestRetryOfAnotherError(t *testing.T) {
	other, n := errors.New("other"), 0
	assert.ErrorIs(t, Retry(func() error { n++; return other }), other)
	assert.Equal(t, n, 1)
}

// A lock is held until it is released, and waiting for it ends with the context.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	assert.NilError(t, err)
	if Permissions || runtime.GOOS == "windows" { // elsewhere there may be no locks
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		cancel(enough)
		_, err = Lock(ctx, path)
		assert.ErrorIs(t, err, enough)
	}
	waiting := make(chan error)
	go func() {
		unlock, err := Lock(t.Context(), path)
		if err == nil {
			unlock()
		}
		waiting <- err
	}()
	unlock()
	assert.NilError(t, <-waiting)
	_, err = Lock(t.Context(), filepath.Join(path, "none", "lock"))
	assert.Assert(t, err != nil)
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	_, err := Open(path)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, path)
	assert.NilError(t, os.WriteFile(path, []byte("text"), 0o600))
	f, err := Open(path)
	assert.NilError(t, err)
	assert.NilError(t, os.Remove(path), "it may be removed while it is open")
	text, err := io.ReadAll(f)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "text")
	assert.NilError(t, f.Close())
	_, err = Open(path)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	f, err = Open(dir)
	assert.NilError(t, err)
	info, err := f.Stat()
	assert.NilError(t, err)
	assert.Assert(t, info.IsDir())
	assert.NilError(t, f.Close())
}
