//go:build unix

package processtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/internal/eventually"
)

// Exists reports whether there is a process, dead or alive.
func Exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// Runs reports whether a process runs. A zombie does not: its parent may reap it later.
func Runs(pid int) bool {
	state := stateOf(pid)
	return state != "" && state != "Z"
}

// Suspend suspends a process and waits until it is stopped. Until then SIGTERM, which has a lower
// number than SIGSTOP, would end it.
func Suspend(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("process %d cannot be suspended: %v", pid, err)
	}
	eventually.True(t, fmt.Sprintf("process %d is stopped", pid),
		func() bool { return stateOf(pid) == "T" })
}

// stateOf returns the state of a process as ps shows it, or "" if there is no such process.
func stateOf(pid int) string {
	if !Exists(pid) {
		return ""
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stateByPs(pid)
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return string(state[:min(len(state), 1)])
}

// stateByPs is stateOf for systems without /proc.
func stateByPs(pid int) string {
	state, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	state = bytes.TrimSpace(state)
	return string(state[:min(len(state), 1)])
}

// OpenFiles returns the number of files that this process has open.
func OpenFiles() int {
	open, _ := filepath.Glob("/dev/fd/*")
	return len(open)
}
