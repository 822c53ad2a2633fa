//go:build unix

package proc

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// alive reports whether a process runs. Where /proc exists, a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

func openFiles(t testing.TB) int {
	entries, err := os.ReadDir("/dev/fd")
	assert.NilError(t, err)
	return len(entries)
}

func onWine() bool { return false }

const executable = "" // extension of programs
