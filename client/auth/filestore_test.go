package auth_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

func testCredentials(issuer, resource, client string) auth.Credentials {
	return auth.Credentials{
		Key: auth.Key{Endpoint: resource + "/mcp", Issuer: issuer, Resource: resource,
			Client: client, Grant: "authorization_code"}, Type: "Bearer", AccessToken: "s3cret",
		RefreshToken: "s3cret",
		Registration: auth.Registration{Issuer: issuer, ClientID: "x", Secret: "s3cret"},
		Scopes:       []string{"a"}, Expires: time.Unix(1e9, 0).UTC(),
		Saved: time.Unix(1e9, 0).UTC(),
	}
}

// Credentials of different authorization servers, resources and clients are in separate files that
// only the user can access.
func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	s := auth.FileStore{Dir: dir}
	all, err := s.Find("https://a.example/mcp")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 0)
	for _, c := range []auth.Credentials{
		testCredentials("https://as.example", "https://a.example", ""),
		testCredentials("https://as.example/", "https://a.example", ""),
		testCredentials("https://as.example", "https://b.example", ""),
		testCredentials("https://as.example", "https://a.example", "client"),
	} {
		assert.NilError(t, s.Put(c))
		assert.NilError(t, s.Put(c), "again")
	}
	all, err = s.All()
	assert.NilError(t, err)
	assert.Equal(t, len(all), 4)
	all, err = s.Find("https://b.example/mcp")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 1)
	want := testCredentials("https://as.example", "https://b.example", "")
	assert.Equal(t, fmt.Sprintf("%+v", struct{ a, b any }{mustJSON(t, all[0]), 0}),
		fmt.Sprintf("%+v", struct{ a, b any }{mustJSON(t, want), 0}))

	hasMode(t, dir, 0o700)
	for _, file := range files(t, dir) {
		hasMode(t, file, 0o600)
	}
	assert.NilError(t, s.Delete(want.Key))
	assert.NilError(t, s.Delete(want.Key), "again")
	all, err = s.All()
	assert.NilError(t, err)
	assert.Equal(t, len(all), 3)
}

// hasMode asserts a file's permissions, if the system has any.
func hasMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), want)
	}
}

// Each endpoint of a resource has credentials of its own.
func TestStoreSeparatesEndpoints(t *testing.T) {
	s := auth.FileStore{Dir: t.TempDir()}
	a, b := testCredentials("https://as.example", "https://a.example", ""),
		testCredentials("https://as.example", "https://a.example", "")
	b.Endpoint = "https://a.example/other"
	assert.NilError(t, s.Put(a))
	assert.NilError(t, s.Put(b))
	for _, c := range []auth.Credentials{a, b} {
		found, err := s.Find(c.Endpoint)
		assert.NilError(t, err)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].Key, c.Key)
	}
}

// One process or goroutine at a time holds the lock of a Key; others wait until their contexts end.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	k := testCredentials("https://as.example", "https://a.example", "").Key
	unlock, err := auth.FileStore{Dir: dir}.Lock(t.Context(), k)
	assert.NilError(t, err)
	hurry, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = auth.FileStore{Dir: dir}.Lock(hurry, k)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	other, err := auth.FileStore{Dir: dir}.Lock(t.Context(), auth.Key{Issuer: "another"})
	assert.NilError(t, err)
	other()
	got := make(chan error, 1)
	go func() {
		unlock, err := auth.FileStore{Dir: dir}.Lock(t.Context(), k)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	assert.NilError(t, <-got)
	all, err := auth.FileStore{Dir: dir}.All()
	assert.NilError(t, err)
	assert.Equal(t, len(all), 0, "a lock is no credentials")
	assert.NilError(t, os.RemoveAll(dir))
	assert.NilError(t, os.WriteFile(dir, nil, 0o600))
	_, err = auth.FileStore{Dir: dir}.Lock(t.Context(), k)
	assert.ErrorContains(t, err, "mkdir "+dir)
}

// lockOf is the environment variable with the store's folder for the process of
// TestLockOfADeadProcess.
const lockOf = "STDWIRE_TEST_LOCK"

// A lock is released when its process dies.
func TestLockOfADeadProcess(t *testing.T) {
	k := testCredentials("https://as.example", "https://a.example", "").Key
	if dir := os.Getenv(lockOf); dir != "" {
		_, err := auth.FileStore{Dir: dir}.Lock(t.Context(), k)
		assert.NilError(t, err)
		fmt.Println("locked")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	s := auth.FileStore{Dir: t.TempDir()}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLockOfADeadProcess$")
	other.Env = append(os.Environ(), lockOf+"="+s.Dir)
	hold, err := other.StdinPipe()
	assert.NilError(t, err)
	defer hold.Close()
	out, err := other.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, other.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, strings.TrimSpace(line), "locked")
	hurry, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Lock(hurry, k)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NilError(t, other.Process.Kill())
	assert.Assert(t, other.Wait() != nil)
	unlock, err := s.Lock(t.Context(), k)
	assert.NilError(t, err)
	unlock()
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	assert.NilError(t, err)
	return string(text)
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	assert.NilError(t, err)
	return all
}

// The error for an unusable file has its name but nothing of its content. Other files are used.
func TestDamagedFiles(t *testing.T) {
	good := testCredentials("https://as.example", "https://a.example", "")
	for name, tc := range map[string]struct {
		damage func(t *testing.T, path string)
		want   string
	}{
		"others may read it": {func(t *testing.T, path string) {
			assert.NilError(t, os.Chmod(path, 0o640))
		}, "not used because other users can access it"},
		"others may write": {func(t *testing.T, path string) {
			assert.NilError(t, os.Chmod(path, 0o602))
		}, "not used because other users can access it"},
		"half":          {write(`{"issuer":"s3cret`), "damaged: log in again"},
		"empty":         {write(``), "damaged: log in again"},
		"a type":        {write(`{"issuer":{"s3cret":1}}`), "damaged: log in again"},
		"too much":      {write(strings.Repeat(" ", 65<<10)), "larger than 65536 bytes"},
		"nothing in it": {write(`{}`), "incomplete: log in again"},
		"a token": {func(t *testing.T, path string) {
			c := good
			c.AccessToken = "s3cret\r\nX: y"
			write(mustJSON(t, c))(t, path)
		}, "invalid characters in the token"},
		"a type of token": {func(t *testing.T, path string) {
			c := good
			c.Type = "mac"
			write(mustJSON(t, c))(t, path)
		}, "unsupported token type"},
		"no key": {func(t *testing.T, path string) {
			c := good
			c.Type = "DPoP"
			write(mustJSON(t, c))(t, path)
		}, "no DPoP key"},
		"a key that is none": {func(t *testing.T, path string) {
			c := good
			c.Type, c.DPoPKey = "DPoP", []byte("s3cret")
			write(mustJSON(t, c))(t, path)
		}, "invalid DPoP key"},
		"of another": {func(t *testing.T, path string) {
			c := good
			c.Issuer = "https://evil.example"
			write(mustJSON(t, c))(t, path)
		}, "its name does not match its content"},
		"a folder": {func(t *testing.T, path string) {
			assert.NilError(t, os.Remove(path))
			assert.NilError(t, os.Mkdir(path, 0o700))
		}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "others may") && !atomicfile.Permissions {
				t.Skip("permissions keep nobody out here")
			}
			s := auth.FileStore{Dir: t.TempDir()}
			assert.NilError(t, s.Put(good))
			path := files(t, s.Dir)[0]
			assert.NilError(t,
				s.Put(testCredentials("https://as.example", "https://b.example", "")))
			tc.damage(t, path)
			all, err := s.All()
			assert.ErrorContains(t, err, tc.want)
			assert.ErrorContains(t, err, path)
			assert.Assert(t, !strings.Contains(err.Error(), "s3cret"), err.Error())
			assert.Equal(t, len(all), 1)
			assert.Equal(t, all[0].Resource, "https://b.example")
			if name == "a folder" {
				return
			}
			assert.NilError(t, s.Put(good), "to log in again makes it good")
			all, err = s.All()
			assert.NilError(t, err)
			assert.Equal(t, len(all), 2)
		})
	}
}

func write(text string) func(*testing.T, string) {
	return func(t *testing.T,
		path string) {
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// What Put accepts can be read again, up to the last byte of the limit.
func TestLargestCredentials(t *testing.T) {
	s := auth.FileStore{Dir: t.TempDir()}
	c := testCredentials("https://as.example", "https://a.example", "")
	c.AccessToken += strings.Repeat("x", 64<<10-len(mustJSON(t, c)+"\n"))
	assert.NilError(t, s.Put(c))
	all, err := s.All()
	assert.NilError(t, err)
	assert.Equal(t, all[0].AccessToken, c.AccessToken)
	c.AccessToken += "x"
	assert.ErrorContains(t, s.Put(c), "credentials of 65537 bytes are over the limit of 65536")
	all, err = s.All()
	assert.NilError(t, err, "what was there stays")
	assert.Equal(t, len(all), 1)
}

// Files that are not read because there are too many are an error, which names the folder.
func TestTooManyFiles(t *testing.T) {
	s := auth.FileStore{Dir: t.TempDir()}
	assert.NilError(t, s.Put(testCredentials("https://as.example", "https://a.example", "")))
	for i := range 999 {
		write("")(t, filepath.Join(s.Dir, fmt.Sprint(i, ".lock")))
	}
	all, err := s.All()
	assert.NilError(t, err)
	assert.Equal(t, len(all), 1)
	write("")(t, filepath.Join(s.Dir, "999.lock"))
	_, err = s.All()
	assert.ErrorContains(t, err, s.Dir+": only 1000 of its files were read")
}

// A symbolic link in place of a file is replaced, and not followed.
func TestSymbolicLinkInAStore(t *testing.T) {
	s := auth.FileStore{Dir: t.TempDir()}
	good := testCredentials("https://as.example", "https://a.example", "")
	assert.NilError(t, s.Put(good))
	path, away := files(t, s.Dir)[0], filepath.Join(t.TempDir(), "away")
	assert.NilError(t, os.WriteFile(away, nil, 0o666))
	assert.NilError(t, os.Remove(path))
	err := os.Symlink(away, path)
	if err == nil {
		_, err = os.Lstat(path) // Wine reports success without creating a link
	}
	if err != nil && runtime.GOOS == "windows" {
		t.Skipf("symbolic links cannot be made here: %v", err)
	}
	assert.NilError(t, err)
	assert.NilError(t, s.Put(good))
	text, err := os.ReadFile(away)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "")
}

// A folder that cannot be written to is an error, and the client works without it.
func TestStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	s := auth.FileStore{Dir: filepath.Join(file, "below")}
	assert.Assert(t, s.Put(testCredentials("https://as.example", "https://a.example", "")) != nil)
	w := newWorld(t)
	o := w.options()
	o.Store = s
	c := w.client(o)
	c.ok()
	c.ok()
	assert.Equal(t, w.count("/authorize"), 1)
	w.mu.Lock()
	assert.Assert(t, strings.Contains(w.log.String(), "credentials cannot be saved"),
		w.log.String())
	w.mu.Unlock()

	big := testCredentials("https://as.example", "https://a.example", "")
	big.AccessToken = strings.Repeat("x", 70<<10)
	assert.ErrorContains(t, auth.FileStore{Dir: t.TempDir()}.Put(big), "over the limit of 65536")
}

// With concurrent writers, a reader sees complete credentials of one of them.
func TestStoreIsShared(t *testing.T) {
	s := auth.FileStore{Dir: t.TempDir()}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				c := testCredentials("https://as.example", "https://a.example", "")
				c.AccessToken = strings.Repeat(string(rune('a'+i)), 1000)
				assert.Check(t, s.Put(c))
				found, err := s.Find(c.Endpoint)
				assert.Check(t, err)
				if assert.Check(t, len(found) == 1) {
					assert.Check(t, strings.Count(found[0].AccessToken,
						found[0].AccessToken[:1]) == 1000)
				}
			}
		})
	}
	all.Wait()
}

// Printing and logging credentials shows no secret.
func TestCredentialsAreNotPrinted(t *testing.T) {
	c := testCredentials("https://as.example", "https://a.example", "")
	c.Endpoint += "?key=s3cret"
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", c, "r", c.Registration, "k", c.Key)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v", c.Key, c.Key),
		fmt.Sprintf("%+v %#v %v %s", c, c, &c, c),
		fmt.Sprintf("%+v %#v", c.Registration, c.Registration), log.String()} {
		assert.Assert(t, !strings.Contains(text, "s3cret"), text)
		assert.Assert(t, strings.Contains(text, "https://as.example"), text)
	}
}
