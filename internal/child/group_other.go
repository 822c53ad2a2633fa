//go:build !unix

package child

import (
	"errors"
	"os"
	"syscall"
)

// Without process groups the leader stands for the group.

func groupAttr() *syscall.SysProcAttr { return nil }

func terminateGroup(*os.Process) error { return errors.ErrUnsupported }

func killGroup(leader *os.Process) error { return leader.Kill() }

func exitSignal(*os.ProcessState) os.Signal { return nil }
