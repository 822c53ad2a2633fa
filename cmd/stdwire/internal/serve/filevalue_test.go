package serve

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
		v := &fileValue[string]{what: "the value", paths: []string{one, other}, read: os.ReadFile,
			log: slog.New(slog.NewTextHandler(&logged, nil)),
			parse: func(contents [][]byte) (string, error) {
				text := string(bytes.Join(contents, nil))
				if strings.Contains(text, "wrong") {
					return "", errors.New("it is wrong")
				}
				return text, nil
			}}
		assert.Assert(t, errors.Is(v.load(), os.ErrNotExist))
		store(t, dir, map[string][]byte{"one": []byte("a"), "other": []byte("b")})
		assert.NilError(t, v.load())
		expect := func(want, log string) {
			t.Helper()
			time.Sleep(time.Second)
			assert.Equal(t, v.get(), want)
			assert.Equal(t, strings.Count(logged.String(), "msg="), strings.Count(log, ";"),
				logged.String())
			logged.Reset()
		}
		expect("ab", "")
		store(t, dir, map[string][]byte{"one": []byte("A")})
		assert.Equal(t, v.get(), "ab", "files are looked at once a second")
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
