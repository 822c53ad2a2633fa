package guard

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// selfPath is this very program, also when its file has been replaced by a newer version, whose guards might speak differently.
func selfPath(string) string { return "/proc/self/exe" }

// guardAttr has the guard look, when a thread of the program ends, whether it was the last.
func guardAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCHLD}
}

func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adopt makes this process the parent of its descendants that lose theirs, and makes sure that they can be found.
func adopt() error {
	// In a namespace of processes that has no /proc of its own, the ids there are those of others.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return syscall.ENOENT
	}
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// siginfo begins as the system's siginfo_t of a child's exit.
type siginfo struct {
	_   [3]int32
	_   [0]uintptr // what follows is aligned to words
	pid int32
	_   [128]byte
}

// ended reports whether the command has ended, and leaves it unreaped, so that its id, and with it the id of its group, cannot pass to somebody else.
// It reaps who else has died.
func (g *guarded) ended() bool {
	for {
		var dead siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, 0 /* P_ALL */, 0, uintptr(unsafe.Pointer(&dead)),
			syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return true
		case dead.pid == 0:
			return false
		case int(dead.pid) == g.pid:
			return true
		default:
			syscall.Wait4(int(dead.pid), nil, syscall.WNOHANG, nil)
		}
	}
}

// process is what /proc/PID/stat says of a process.
type process struct {
	parent, group int
	started       string // in ticks; together with the pid, who it is
}

// killDescendants looks once through all processes and kills those that descend from this one.
func killDescendants() {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()

	self := os.Getpid()
	children := map[int][]int{}
	all := map[int]process{}
	for _, name := range slices.Backward(names) { // the youngest first, before they fork again
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, ok := stat(name)
		if !ok {
			continue
		}
		if p.parent != self {
			all[pid] = p
			children[p.parent] = append(children[p.parent], pid)
			continue
		}
		// Our own children keep their ids until we reap them.
		if p.group == pid {
			syscall.Kill(-pid, syscall.SIGKILL)
		} else {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		children[self] = append(children[self], pid)
	}
	doomed := children[self]
	for i := 0; i < len(doomed); i++ {
		doomed = append(doomed, children[doomed[i]]...)
	}
	for _, pid := range doomed[len(children[self]):] {
		// Others may be gone by now. A handle stays with the process that has the id now; if that is still the one that was seen, it is killed.
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if p, ok := stat(strconv.Itoa(pid)); ok && p.started == all[pid].started {
			handle.Kill()
		}
		handle.Release()
	}
}

// stat reads about a process, with as few calls of the system as can be.
func stat(pid string) (p process, ok bool) {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return p, false
	}
	defer syscall.Close(fd)
	var buf [1024]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil {
		return p, false
	}
	text := string(buf[:n])
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may contain anything
	if len(fields) < 20 {
		return p, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	return process{parent, group, fields[19]}, err1 == nil && err2 == nil
}
