//go:build !unix && !windows

package control

import "syscall"

func detached() *syscall.SysProcAttr { return nil }
