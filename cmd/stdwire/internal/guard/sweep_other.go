//go:build unix && !linux

package guard

import "syscall"

// Without subreapers and a list of children the group stands for the descendants.

func selfPath(path string) string { return path }

func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adopt() error { return nil }

// ended reports whether the command has ended, and reaps it.
func (g *guarded) ended() bool {
	pid, err := syscall.Wait4(g.pid, &g.status, syscall.WNOHANG, nil)
	g.reaped = pid == g.pid
	return g.reaped || err != nil && err != syscall.EINTR
}

func killDescendants() {}
