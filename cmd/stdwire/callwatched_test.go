package main

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Progress and log messages are printed as lines with times, also without a terminal.
func TestCallWatched(t *testing.T) {
	got := against(t, "call log --watch", "library")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, "done\n")
	clock := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `)
	lines := strings.Split(strings.TrimSuffix(clock.ReplaceAllString(got.stderr, "~"), "\n"), "\n")
	assert.Equal(t, len(lines), 3, got.stderr)
	for _, want := range []string{"~50% half", "~warning db: slow query", `~info {"n": 1}`} {
		assert.Assert(t, cmp.Contains(lines, want))
	}
}
