package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A recording becomes traces, which have neither its arguments nor its results.
func TestTapTraces(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	file := talk(t, dir)
	got := run(t, "tap", "traces", file)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stderr, "")
	assert.Assert(t, strings.HasSuffix(got.stdout, "]}]}]}\n"))
	assert.Assert(t, json.Valid([]byte(got.stdout)))
	assert.Assert(t, cmp.Contains(got.stdout, `"name":"tools/call fs_read","kind":3,`))
	assert.Assert(t, !strings.Contains(got.stdout, "a.txt"))
	assert.Assert(t, !strings.Contains(got.stdout, "hello"))
	assert.Equal(t, run(t, "tap", "traces", file), got)
}
