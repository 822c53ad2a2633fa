package arguments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A byte order mark before the content of a file, or of standard input, is no part of the argument.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(path, []byte("\uFEFF{\"a\":1}"), 0o600))
	data, err := ParseData(t.Context(), "@"+path, nil)
	assert.NilError(t, err)
	assert.Equal(t, string(data), `{"a":1}`)
	data, err = ParseData(t.Context(), "-", strings.NewReader("\uFEFF{}"))
	assert.NilError(t, err)
	assert.Equal(t, string(data), `{}`)
	a, err := ParseAssignment("text=@" + path)
	assert.NilError(t, err)
	assert.Equal(t, a.Text, `{"a":1}`)
	a, err = ParseAssignment("json:=@" + path)
	assert.NilError(t, err)
	assert.Equal(t, string(a.JSON), `{"a":1}`)
}
