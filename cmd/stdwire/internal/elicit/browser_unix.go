//go:build unix

package elicit

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in this terminal from ending the browser.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
