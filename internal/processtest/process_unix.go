//go:build unix

package processtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Exists reports whether there is a process, dead or alive.
func Exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// Runs reports whether a process runs. A zombie does not: its parent may reap it later.
func Runs(pid int) bool {
	if !Exists(pid) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(rest, []byte("Z"))
	}
	return runsByPs(pid)
}

// runsByPs is Runs for systems without /proc.
func runsByPs(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	_, noSuchProcess := errors.AsType[*exec.ExitError](err)
	return !noSuchProcess && !bytes.HasPrefix(bytes.TrimSpace(state), []byte("Z"))
}

// OpenFiles returns the number of files that this process has open.
func OpenFiles() int {
	open, _ := filepath.Glob("/dev/fd/*")
	return len(open)
}
