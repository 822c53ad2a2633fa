package child

import "syscall"

// awaitExit blocks until the process has exited and leaves it unreaped, so that its
// id, and with it the id of its group, cannot pass to somebody else. It
// reports whether it could.
func awaitExit(pid int) bool {
	const idIsPid = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idIsPid, uintptr(pid), 0,
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0
		}
	}
}
