//go:build linux

package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestAgainst(t *testing.T) {
	trees, err := output(t.Context(), "git", "worktree", "list")
	if err != nil {
		t.Skip("needs a git repository: ", err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out bytes.Buffer
	o := options{time: 10 * time.Millisecond}
	assert.NilError(t, against(t.Context(), &out, "HEAD", []string{"pipe"}, 2, o))
	for _, want := range []string{
		`(?m)^pipe +[0-9a-f]+ +now +ratio +allocs$`,
		`(?m)^tools/call raw, 64 B +\S+ µs +\S+ µs +\S+× +\d`,
		`(?m)^tools/call typed and validated, 64 B +\S+ µs +\S+ µs +\S+× +\d`,
	} {
		assert.Check(t, cmp.Regexp(want, out.String()))
	}
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Check(t, cmp.Len(left, 0))
	treesNow, err := output(t.Context(), "git", "worktree", "list")
	assert.NilError(t, err)
	assert.Check(t, cmp.Equal(treesNow, trees))
}

func TestPrintRatios(t *testing.T) {
	var out bytes.Buffer
	printRatios(&out, "some", "0123abc",
		[]row{{"cost", 10, "µs", "3"}, {"rate", 50, "calls/s", ""}, {"same", 1, "ms", "7"}},
		[]row{{"cost", 12, "µs", "4"}, {"rate", 100, "calls/s", ""}, {"same", 1, "ms", "7"},
			{"new", 1, "ms", ""}})
	assert.Equal(t, out.String(), `
some  0123abc     now          ratio  allocs
cost  10 µs       12 µs        1.20×  3 → 4  SLOWER
rate  50 calls/s  100 calls/s  0.50×  
same  1 ms        1 ms         1.00×  7
new   -           1 ms         -      
`)
}
