//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// members is the id of the process group, which is that of its leader.
type members int

func start(cmd *exec.Cmd) (members, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return members(cmd.Process.Pid), nil
}

func (m members) terminate() error { return syscall.Kill(-int(m), syscall.SIGTERM) }

func (m members) kill() error { return syscall.Kill(-int(m), syscall.SIGKILL) }

func (m members) close() {}

// Signal is what ended a process, or 0 if it has exited.
func Signal(state *os.ProcessState) syscall.Signal {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
