//go:build !unix && !windows

package processgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// systemGroup is the leader alone.
type systemGroup struct{ leader *os.Process }

func start(cmd *exec.Cmd) (systemGroup, error) {
	err := cmd.Start()
	return systemGroup{cmd.Process}, err
}

func (g systemGroup) terminate() error { return errors.ErrUnsupported }

func (g systemGroup) kill() error { return g.leader.Kill() }

func (g systemGroup) close() {}

// exitSignal returns 0: nothing is known of signals on this system.
func exitSignal(*os.ProcessState) syscall.Signal { return 0 }
