package main

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// With --watch, each change of the status of a task is printed, without the id of the task.
func TestWatchedTask(t *testing.T) {
	t.Parallel()
	got := against(t, "call slow --watch", "modern-task")
	stderr := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(got.stderr, "")
	assert.Equal(t, stderr,
		"task working\ntask working: one of two\ntask working: two of two\ntask completed\n")
	assert.Equal(t, got.stdout, "done\n")
	assert.Equal(t, against(t, "call slow", "modern-task"), ran{0, "done\n", ""})
}

// On a terminal the status of a task is in the line that goes away again.
func TestStatusOfATask(t *testing.T) {
	t.Parallel()
	got := onTerminal(t, "", "call slow", "modern-task")
	assert.Assert(t, strings.Contains(got.stderr, "slow: task working: two of two"), "%q",
		got.stderr)
}
