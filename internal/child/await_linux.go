package child

import "syscall"

// awaitExit blocks until the process has exited and does not reap it, so that no other process can
// get its id, or a group of that id. It reports whether it succeeded.
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
