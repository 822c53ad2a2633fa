package target

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// A byte order mark in a file is no part of a header or a token.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(path, []byte("\uFEFF0123456789abcdef\n"), 0o600))
	value, err := FlagValue("@" + path)
	assert.NilError(t, err)
	assert.Equal(t, value, "0123456789abcdef")
	token, err := ReadToken(path)
	assert.NilError(t, err)
	assert.Equal(t, token, "0123456789abcdef")
}
