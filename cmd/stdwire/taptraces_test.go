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

// Nothing is printed for a file that is no recording; a truncated one is converted to its end.
func TestTapTracesOfBrokenFiles(t *testing.T) {
	const start = `{"t":0,"kind":"start","version":1,"at":"2026-11-24T10:00:00Z"}` + "\n"
	const ping = `{"t":1,"n":1,"from":"client","kind":"request","method":"ping","id":1}` + "\n"
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	for _, tt := range []struct {
		content string
		code    int
		spans   int
		stderr  string
	}{
		{start, 0, 0, ""},
		{start + ping, 0, 1, ""},
		{start + ping + ping[:9], 0, 1, "note: FILE: the recording ends in the middle of a line\n"},
		{start + ping + "{\n" + ping, 2, 0,
			"stdwire: tap traces: FILE: line 3 of the recording: unexpected end of JSON input\n"},
		{"hello\n", 2, 0, "stdwire: tap traces: FILE: not a recording of stdwire tap\n"},
	} {
		assert.NilError(t, os.WriteFile(file, []byte(tt.content), 0o600))
		got := run(t, "tap", "traces", file)
		stderr, _, _ := strings.Cut(strings.ReplaceAll(got.stderr, file, "FILE"), "hint: ")
		assert.Equal(t, stderr, tt.stderr)
		assert.Equal(t, got.code, tt.code)
		assert.Equal(t, strings.Count(got.stdout, `"spanId"`), tt.spans, got.stdout)
		assert.Equal(t, json.Valid([]byte(got.stdout)), tt.code == 0, got.stdout)
	}
	for _, tt := range []struct{ args, stderr string }{
		{"tap traces", "stdwire: tap traces: which recording?\n"},
		{"tap traces a b", "stdwire: tap traces: unexpected argument \"b\"\n"},
		{"tap trace", "stdwire: tap: unexpected argument \"trace\"\nhint: did you mean traces?\n"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, tt.args)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), "%s: %s", tt.args, got.stderr)
	}
}
