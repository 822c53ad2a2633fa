package lineedit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

func TestHistoryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "stdwire", "history")
	h, err := OpenHistory(path)
	assert.NilError(t, err)
	_, err = os.Stat(filepath.Dir(path))
	assert.Assert(t, os.IsNotExist(err), "nothing is made in vain")
	for _, line := range []string{"one", "one", " secret", "", "  ", "two", "a\nb", "one",
		strings.Repeat("x", maxHistoryLine+1)} {
		assert.NilError(t, h.Add(line))
	}
	assert.DeepEqual(t, h.Lines(), []string{"one", "two", "a\nb", "one"})
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "one\ntwo\none\n")
	info, err := os.Stat(path)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	}

	h, err = OpenHistory(path)
	assert.NilError(t, err)
	assert.DeepEqual(t, h.Lines(), []string{"one", "two", "one"})
	assert.NilError(t, h.Add("three"))
	text, err = os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "one\ntwo\none\nthree\n")
}

func TestHistoryIsBounded(t *testing.T) {
	h := new(History)
	for i := range maxHistory + 10 {
		assert.NilError(t, h.Add(fmt.Sprint(i)))
	}
	assert.Equal(t, len(h.Lines()), maxHistory)
	assert.Equal(t, h.Lines()[0], "10")

	path := filepath.Join(t.TempDir(), "history")
	assert.NilError(t,
		os.WriteFile(path,
			[]byte(strings.Repeat("x", maxHistoryFile)+"\n"+strings.Repeat("old\nline\n", 1000)+
				"\xff\r\nlast\n"), 0o600))
	h, err := OpenHistory(path)
	assert.NilError(t, err)
	assert.Equal(t, len(h.Lines()), maxHistory)
	assert.DeepEqual(t, h.Lines()[maxHistory-3:], []string{"line", "\uFFFD", "last"})
	assert.NilError(t, h.Add("newest"))
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(text), "\n"), maxHistory+1,
		"cut to what is kept, and one more")
	assert.Assert(t, strings.HasSuffix(string(text), "\uFFFD\nlast\nnewest\n"))
	entries, err := os.ReadDir(filepath.Dir(path))
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 1, "nothing else is left")
}

func TestHistoryWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	h, err := OpenHistory(dir)
	assert.ErrorContains(t, err, "is not a regular file")
	assert.NilError(t, h.Add("one"), "it is told once")
	assert.DeepEqual(t, h.Lines(), []string{"one"})

	blocked := filepath.Join(dir, "file")
	assert.NilError(t, os.WriteFile(blocked, nil, 0o600))
	h, err = OpenHistory(filepath.Join(blocked, "history"))
	added := h.Add("one")
	assert.Assert(t, (err == nil) != (added == nil), "told once, on Windows by Add: %v, %v", err,
		added)
	assert.NilError(t, h.Add("two"))
	assert.DeepEqual(t, h.Lines(), []string{"one", "two"})

	h, err = OpenHistory(filepath.Join(dir, "gone", "history"))
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "gone"), nil, 0o600))
	err = h.Add("one")
	assert.Assert(t, cmp.ErrorContains(err, "the history is not kept: "))
	assert.NilError(t, h.Add("two"))
	assert.DeepEqual(t, h.Lines(), []string{"one", "two"})
}
