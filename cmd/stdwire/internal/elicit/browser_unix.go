//go:build unix

package elicit

import (
	"os/exec"
	"syscall"
)

// detach sees that Ctrl-C in this terminal does not end the browser.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
