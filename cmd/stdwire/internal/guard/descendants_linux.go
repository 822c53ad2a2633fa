package guard

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// selfPath returns a path of the running program, even after its file has been replaced by another
// version, whose guards might use another protocol.
func selfPath(string) string { return "/proc/self/exe" }

// guardAttr makes the guard get a signal when a thread of the program ends; it then checks whether
// the program lives.
func guardAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCHLD}
}

func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// becomeSubreaper makes this process the parent of its descendants whose own parents die. It fails
// if /proc does not show them.
func becomeSubreaper() error {
	// In a process namespace without a /proc of its own, /proc has the ids of another namespace.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return syscall.ENOENT
	}
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// siginfo has the layout of the start of siginfo_t for the exit of a child.
type siginfo struct {
	_   [3]int32
	_   [0]uintptr // aligns the next field to a word
	pid int32
	_   [128]byte
}

// keepsDead says that ended does not reap the command.
const keepsDead = true

// ended reports whether the command has ended. It does not reap it, so that no other process can
// get its id, or a group of that id. It reaps other dead children.
func (c *leader) ended() bool {
	for {
		var dead siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, 0 /* P_ALL */, 0,
			uintptr(unsafe.Pointer(&dead)),
			syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return true
		case dead.pid == 0:
			return false
		case int(dead.pid) == c.pid:
			return true
		default:
			syscall.Wait4(int(dead.pid), nil, syscall.WNOHANG, nil)
		}
	}
}

// process is part of /proc/PID/stat.
type process struct {
	parent, group int
	started       string // in clock ticks; identifies a process together with its id
}

// killDescendants lists all processes once and kills the descendants of this one.
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
		// This process's children keep their ids until it reaps them.
		if p.group == pid {
			syscall.Kill(-pid, syscall.SIGKILL)
		} else {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		children[self] = append(children[self], pid)
	}
	descendants := children[self]
	for i := 0; i < len(descendants); i++ {
		descendants = append(descendants, children[descendants[i]]...)
	}
	for _, pid := range descendants[len(children[self]):] {
		// Another descendant may be gone, and its id another process's. Open a handle, and kill the
		// process only if it is still the one listed.
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

// stat reads /proc/PID/stat with few system calls.
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
	// the name before it may contain any character
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return p, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	return process{parent, group, fields[19]}, err1 == nil && err2 == nil
}
