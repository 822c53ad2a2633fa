package guard

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// forkSessions is a fixture. Its arguments are the number of forks, and "stay" if the parents stay.
func forkSessions(args []string) {
	forks, err := strconv.Atoi(args[0])
	check(err)
	forkIntoSessions(forks, args[1] == "stay")
}

// forkIntoSessions forks repeatedly, each time into a new session. The first process stays; the
// other parents stay or exit. It writes "on" after the tenth fork, and "end" at the end. After a
// fork there is no Go runtime, so it uses system calls only.
//
//go:norace
func forkIntoSessions(forks int, stay bool) {
	long := syscall.NsecToTimespec(int64(2 * time.Minute))
	on, end := [3]byte{'o', 'n', '\n'}, [4]byte{'e', 'n', 'd', '\n'}
	for i := range forks {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0,
			0, 0)
		if errno != 0 {
			break
		}
		if pid != 0 {
			for interrupted := stay || i == 0; interrupted; {
				// by the exit of a child; the system updates long to the remaining time
				_, _, errno = syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0,
					uintptr(unsafe.Pointer(&long)), 0, 0, 0)
				interrupted = errno == syscall.EINTR
			}
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		if i == 10 {
			syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&on)), uintptr(len(on)))
		}
	}
	syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&end)), uintptr(len(end)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}
