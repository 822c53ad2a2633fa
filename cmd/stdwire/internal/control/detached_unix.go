//go:build unix

package control

import "syscall"

// detached makes a process independent of the terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
