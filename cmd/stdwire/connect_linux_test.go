package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/processtest"
)

// Questions of a server behind a connection are asked at the terminal of the call.
func TestConnectionAsksWhereTheCallIs(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			ownRuntime(t)
			connected(t, words("@forms --era "+era, fixture("forms")...)...)
			got := run(t, "call", "@forms", "order")
			assert.Assert(t, got.code != 0, "nobody can answer here")

			s := newSession(t, "call", "@forms", "order")
			for _, step := range [][2]string{
				{"@forms asks:\r\n  What shall it be?\r\n", ""},
				{"name (string, minLength 2, required)\r\n", "Ann\n"},
				{"count (integer, optional)\r\n", "7\n"},
				{"color (one of these, optional)\r\n", "2\n"},
				{"gift (yes or no, optional)\r\n", "\n"},
				{"  name: Ann\r\n  count: 7\r\n  color: green\r\n  gift: left out\r\n", "y\n"},
			} {
				s.expect(step[0])
				s.typeText(step[1])
			}
			s.expect(`accept {"name":"Ann","count":7,"color":"green"}` + "\r\n")
			assert.Equal(t, s.wait(), 0)
		})
	}
}

// If the process that keeps a connection is killed, or the one that waits for it, no process of the
// server is left, and a call says so.
func TestConnectionIsKilled(t *testing.T) {
	for name, generation := range map[string]int{"keeps it": 0, "waits for it": 2} {
		t.Run(name, func(t *testing.T) {
			ownRuntime(t)
			notes := newNotes(t)
			// a grandchild of it ignores SIGTERM and the end of its stdin
			connected(t, words("@parent", fixture("parent", notes.path)...)...)
			keeper := listedConnections(t)[0].Pid
			pid := keeper
			for range generation {
				pid = parentOf(t, pid)
			}
			assert.NilError(t, syscall.Kill(pid, syscall.SIGKILL))
			_ = notes.all(t) // until the grandchild has ended
			waitFor(t, func() string {
				if processtest.Exists(keeper) {
					return "the process with the socket has not ended"
				}
				return ""
			})

			got := run(t, "call", "@parent", "big")
			assert.Equal(t, got.code, 4)
			assert.Assert(t, cmp.Contains(got.stderr,
				"the connection @parent has ended: its process was killed"))
			assert.Equal(t, connected(t, words("@parent", fixture("good")...)...), "@parent",
				"its name is free")
		})
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	assert.NilError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	assert.NilError(t, err)
	return parent
}

// The socket of a connection whose process was killed is removed by the next command that looks
// for another connection, and is not suggested.
func TestKilledConnectionIsForgotten(t *testing.T) {
	runtime := ownRuntime(t)
	connected(t, words("@good", fixture("good")...)...)
	pid := listedConnections(t)[0].Pid
	assert.NilError(t, syscall.Kill(pid, syscall.SIGKILL))
	waitFor(t, func() string {
		if processtest.Exists(pid) {
			return "it has not ended"
		}
		return ""
	})
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(runtime, "*", "good.*.conn"))
		assert.NilError(t, err)
		return found
	}
	assert.Equal(t, len(files()), 1)
	got := run(t, "call", "@goof", "big")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, !strings.Contains(got.stderr, "@good"), got.stderr)
	assert.Equal(t, len(files()), 0)
}
