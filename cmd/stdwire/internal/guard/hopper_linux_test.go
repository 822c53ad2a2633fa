package guard

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// hopper is a fixture: how often to hop, and whether to "stay".
func hopper(args []string) {
	hops, err := strconv.Atoi(args[0])
	check(err)
	hop(hops, args[1] == "stay")
}

// hop forks again and again, each time into a session of its own. The first process stays; of the
// others the parent stays too, or ends. It says "on" at the tenth hop, and "end" at the end. After
// a fork there is no Go runtime any more, only calls of the system.
//
//go:norace
func hop(hops int, stay bool) {
	long := syscall.NsecToTimespec(int64(2 * time.Minute))
	on, end := [3]byte{'o', 'n', '\n'}, [4]byte{'e', 'n', 'd', '\n'}
	for i := range hops {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0,
			0, 0)
		if errno != 0 {
			break
		}
		if pid != 0 {
			for interrupted := stay || i == 0; interrupted; {
				// by the end of a child; long becomes what is left of it
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
