package auditfile

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// The key of an audit log is the same for all who write to it, however many begin at once, and only
// its user can read it.
func TestAuditKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	quiet := slog.New(slog.DiscardHandler)
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		assert.NilError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	var mu sync.Mutex
	all := map[string]bool{}
	var starts sync.WaitGroup
	for range 20 {
		f := open()
		starts.Go(func() {
			key, err := keyOf(f, quiet)
			assert.Check(t, err == nil && len(key) == 32, "%v", err)
			mu.Lock()
			all[string(key)] = true
			mu.Unlock()
		})
	}
	starts.Wait()
	assert.Equal(t, len(all), 1)
	there, err := os.ReadDir(filepath.Dir(path))
	assert.NilError(t, err)
	assert.Equal(t, len(there), 2, "the log and its key")

	kept := path + ".key"
	if atomicfile.Permissions {
		info, err := os.Stat(kept)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
		assert.NilError(t, os.Chmod(kept, 0o640))
		_, err = keyOf(open(), quiet)
		assert.Error(t, err, kept+
			" can be read by others, who could verify guessed values: chmod 600 it, or remove it")
		assert.NilError(t, os.Chmod(kept, 0o600))
	}
	assert.NilError(t, os.WriteFile(kept, []byte(strings.Repeat("x", 31)), 0o600))
	_, err = keyOf(open(), quiet)
	assert.Error(t, err, kept+" is not a key of an audit log: remove it to have a new one created")

	r, w, err := os.Pipe()
	assert.NilError(t, err)
	defer r.Close()
	defer w.Close()
	key, err := keyOf(w, quiet)
	assert.NilError(t, err)
	assert.Assert(t, key == nil)
}

// Where there is no room for a key beside the log, the log is written nevertheless, and that is
// told.
func TestAuditKeyIsNotKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no open file")
	}
	dir := filepath.Join(t.TempDir(), "gone")
	assert.NilError(t, os.Mkdir(dir, 0o700))
	f, err := os.Create(filepath.Join(dir, "audit.jsonl"))
	assert.NilError(t, err)
	defer f.Close()
	assert.NilError(t, os.RemoveAll(dir))
	var log bytes.Buffer
	key, err := keyOf(f, slog.New(slog.NewTextHandler(&log, nil)))
	assert.NilError(t, err)
	assert.Assert(t, key == nil)
	assert.Assert(t,
		cmp.Contains(log.String(),
			`level=WARN msg="the key of the audit log cannot be stored: its digests can be compared only until this program ends"`))
}
