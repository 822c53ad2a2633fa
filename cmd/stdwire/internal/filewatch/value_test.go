package filewatch

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Changes are noticed after a second; a file that is missing or wrong changes nothing, is logged
// once, and is tried again.
func TestFileValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
		var logged bytes.Buffer
		v := &Value[string]{What: "the value", Paths: []string{one, other}, Read: os.ReadFile,
			Log: slog.New(slog.NewTextHandler(&logged, nil)),
			Parse: func(contents [][]byte) (string, error) {
				text := string(bytes.Join(contents, nil))
				if strings.Contains(text, "wrong") {
					return "", errors.New("it is wrong")
				}
				return text, nil
			}}
		assert.Assert(t, errors.Is(v.Load(), os.ErrNotExist))
		store(t, dir, map[string][]byte{"one": []byte("a"), "other": []byte("b")})
		assert.NilError(t, v.Load())
		expect := func(want, log string) {
			t.Helper()
			time.Sleep(time.Second)
			assert.Equal(t, v.Get(), want)
			assert.Equal(t, strings.Count(logged.String(), "msg="), strings.Count(log, ";"),
				logged.String())
			logged.Reset()
		}
		expect("ab", "")
		store(t, dir, map[string][]byte{"one": []byte("A")})
		assert.Equal(t, v.Get(), "ab", "files are looked at once a second")
		expect("Ab", "changed;")
		store(t, dir, map[string][]byte{"one": []byte("wrong")})
		expect("Ab", "failed;")
		expect("Ab", "")
		assert.NilError(t, os.Remove(other))
		expect("Ab", "failed;")
		store(t, dir, map[string][]byte{"one": []byte("A"), "other": []byte("b")})
		expect("Ab", "")
		store(t, dir, map[string][]byte{"one": []byte("wrong")})
		expect("Ab", "failed;")
		store(t, dir, map[string][]byte{"one": []byte("x")})
		expect("xb", "changed;")
	})
}

// store writes files of these names in a directory, which only this user can read.
func store(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}
