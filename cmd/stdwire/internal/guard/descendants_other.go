//go:build unix && !linux

package guard

import "syscall"

// This system has no subreapers and no /proc: only the group is killed, not all descendants.

func selfPath(path string) string { return path }

func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func becomeSubreaper() error { return nil }

// keepsDead says that ended reaps the command. Its group is killed at once then, because the id is
// reserved only while the group has a member.
const keepsDead = false

// ended reports whether the command has ended, and reaps it.
func (c *leader) ended() bool {
	if c.reaped {
		return true
	}
	pid, err := syscall.Wait4(c.pid, &c.status, syscall.WNOHANG, nil)
	c.reaped = pid == c.pid
	return c.reaped || err != nil && err != syscall.EINTR
}

func killDescendants() {}
