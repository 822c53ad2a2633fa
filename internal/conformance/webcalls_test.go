//go:build linux

package conformance_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Tasks of calls, and of others, are listed, answered, read and cancelled.
func TestWebTasks(t *testing.T) {
	path, err := everything()
	assert.NilError(t, err)
	tests := []struct{ name, era string }{{"modern", "modern"}, {"legacy", "legacy"},
		{"HTTP", "modern"}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newNodeBench(t)
			args, id := []string{"--era", test.era, "--", path}, "everything-server"
			others := []string{}
			if test.name == "HTTP" {
				s := b.serving(path, "-http")
				args = []string{"--era", test.era, "--url", s.direct}
				host := strings.TrimSuffix(strings.TrimPrefix(s.direct, "http://"), "/mcp")
				id = strings.ReplaceAll(host, ":", "-")
				others = append(others, strings.TrimSpace(b.must(binary(t), "call", "slow_compute",
					"seconds=2", "label=other", "--task", "--url", s.direct).stdout))
			}
			w := openWeb(t, b, args...)
			var got struct {
				Asking, Object, Result, Call, Working, Other, Unknown string
				Findings                                              []string
			}
			w.seeIn("webcalls.mjs", "tasks", map[string]any{"server": id, "others": others}, &got)
			assert.Assert(t, cmp.Contains(got.Asking, "a call of confirm_delete"))
			assert.Assert(t, cmp.Contains(got.Asking, "poll interval"))
			assert.Assert(t, cmp.Contains(got.Object, "status: \"completed\""))
			assert.Assert(t, cmp.Contains(got.Result, "a.txt: accept"))
			assert.Assert(t, cmp.Contains(got.Call, "a.txt: accept"))
			assert.Assert(t, cmp.Contains(got.Working, "Cancel the task"))
			if len(others) > 0 {
				assert.Assert(t, cmp.Contains(got.Other, "other: done after 2 s"))
			}
			assert.Assert(t, cmp.Contains(got.Unknown, "-32602"))
			assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
		})
	}
}
