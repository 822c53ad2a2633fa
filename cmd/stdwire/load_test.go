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

// A call is repeated and measured in place of printing its result.
func TestCallRepeat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	assert.NilError(t, os.WriteFile(path, []byte("hello"), 0o600))
	at := []string{"--root", filepath.Dir(path)}
	call := func(file, more string) ran {
		return run(t, append(words("call fs_read path="+file+" "+more), at...)...)
	}
	got := call("a.txt", "--repeat 20 --concurrency 4")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stderr, "")
	for _, text := range []string{"calls           20\n", "p50 ", "p95 ", "p99 ", "errors          0\n"} {
		assert.Check(t, cmp.Contains(got.stdout, text))
	}
	assert.Assert(t, !strings.Contains(got.stdout, "hello"))

	got = call("missing", "--repeat 5 --for 1m -o json")
	assert.Equal(t, got.code, 5)
	var report struct {
		Done          bool
		Calls, Errors int
		Kinds         map[string]int
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &report))
	assert.Assert(t, report.Done)
	assert.Equal(t, report.Calls, 5)
	assert.DeepEqual(t, report.Kinds, map[string]int{"the tool reports an error": 5})

	for flags, want := range map[string]string{
		"--concurrency 2":           "--concurrency needs --repeat or --for",
		"--repeat 2 --task":         "leave out --task",
		"--for 1s -o raw":           "leave out --task",
		"--for 11m":                 "is not a duration up to 10m",
		"--repeat 100001":           "from 1 to 100000",
		"--repeat 0":                "from 1 to 100000",
		"--repeat 1 --for x":        "is not a duration",
		"--for 1s --concurrency 65": "from 1 to 64",
	} {
		got := call("a.txt", flags)
		assert.Equal(t, got.code, 2, flags)
		assert.Check(t, cmp.Contains(got.stderr, want), flags)
	}
}
