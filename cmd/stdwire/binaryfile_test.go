package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A binary file is returned as base64. --save writes the decoded file in every format, and the
// remaining data is printed.
func TestBinaryFileIsSaved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	want := []byte{0x89, 'P', 'N', 'G', 0, 0xff}
	assert.NilError(t, os.Mkdir(filepath.Join(root, "in"), 0o700))
	assert.NilError(t, os.WriteFile(filepath.Join(root, "in", "logo.png"), want, 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(root, "notes.txt"), []byte("text"), 0o600))
	for _, output := range []string{"text", "json", "raw"} {
		dir := filepath.Join(t.TempDir(), "saved")
		got := run(t, "call", "fs_read", "path=in/logo.png", "--root", root, "--save", dir, "-o",
			output)
		assert.Equal(t, got.code, 0, got.stderr)
		path := filepath.Join(dir, "logo.png")
		data, err := os.ReadFile(path)
		assert.NilError(t, err, output)
		assert.DeepEqual(t, data, want)
		if output == "text" {
			assert.Assert(t, strings.Contains(got.stdout, "size:"), got.stdout)
			assert.Assert(t, strings.HasPrefix(got.stdout, "[file in/logo.png 6 B → "+path+"]\n"),
				got.stdout)
			assert.Assert(t, !strings.Contains(got.stdout, "iVBORwD/"), got.stdout)
			continue
		}
		assert.Equal(t, got.stderr, "saved "+path+"\n")
		assert.Assert(t, json.Valid([]byte(got.stdout)) &&
			strings.Contains(got.stdout, "iVBORwD/"), got.stdout)
	}

	// Without --save the bytes go to stdout, and text is not saved.
	assert.Equal(t, run(t, "call", "fs_read", "path=in/logo.png", "--root", root).stdout,
		string(want))
	dir := filepath.Join(t.TempDir(), "saved")
	assert.Equal(t, run(t, "call", "fs_read", "path=notes.txt", "--root", root, "--save", dir),
		ran{0, "text", ""})
	files, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(files), 0)
}
