//go:build !unix && !windows

package processgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// members is the leader, which stands for the group.
type members struct{ leader *os.Process }

func start(cmd *exec.Cmd) (members, error) {
	err := cmd.Start()
	return members{cmd.Process}, err
}

func (m members) terminate() error { return errors.ErrUnsupported }

func (m members) kill() error { return m.leader.Kill() }

func (m members) close() {}

// Signal is 0, as nothing is known of signals here.
func Signal(*os.ProcessState) syscall.Signal { return 0 }
