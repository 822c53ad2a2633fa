//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// systemGroup is the id of the process group, which is the process id of its leader.
type systemGroup int

func start(cmd *exec.Cmd) (systemGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return systemGroup(cmd.Process.Pid), nil
}

func (g systemGroup) terminate() error { return syscall.Kill(-int(g), syscall.SIGTERM) }

func (g systemGroup) kill() error { return syscall.Kill(-int(g), syscall.SIGKILL) }

func (g systemGroup) close() {}

// exitSignal returns the signal that ended a process, or 0 if it exited.
func exitSignal(state *os.ProcessState) syscall.Signal {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
