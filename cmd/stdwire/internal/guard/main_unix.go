//go:build unix

package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Main must be called first in main, and in TestMain. It returns at once unless this process was
// started as a guard; then it does the guard's work and never returns.
func Main() {
	if !isGuard() {
		return
	}
	// The command is killed when the thread that started it ends.
	runtime.LockOSThread()
	// os.Exit does more in builds for coverage or the race detector.
	syscall.Exit(run())
}

func isGuard() bool { return len(os.Args) == 2 && os.Args[1] == guardArg }

// leader is the command, a child process of its guard.
type leader struct {
	pid    int
	status syscall.WaitStatus
	reaped bool // status is set, and pid may be another process's
}

// run does a guard's work and returns its exit status, which the program ignores.
func run() int {
	// On any signal the guard only checks its children. It catches signals, because the command
	// would inherit ignored ones.
	wake := make(chan os.Signal, 1)
	signal.Notify(wake)
	closeOnExec()
	control := bufio.NewReader(os.NewFile(controlFile, "control"))
	status := os.NewFile(statusFile, "status")
	req, err := readRequest(control)
	if err != nil {
		fmt.Fprintf(os.Stderr,
			"%s is for internal use: this program starts itself with it to guard a command: %v\n",
			guardArg, err)
		return 2
	}
	command, err := req.startCommand()
	if err != nil {
		failure, _ := errors.AsType[*startFailure](err)
		fmt.Fprintf(status, "failed %d %d\n", failure.errno, failure.stage)
		return 1
	}
	fmt.Fprintf(status, "started %d\n", command.pid)

	signals := make(chan syscall.Signal)
	go func() {
		defer close(signals)
		for {
			line, err := control.ReadString('\n')
			if err != nil {
				return
			}
			if n, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
				signals <- syscall.Signal(n)
			}
		}
	}()
	killed := command.await(req.parent, signals, wake)
	if req.lingers && !killed {
		command.linger(req.parent, status, signals, wake)
	}
	command.killAll(wake)
	if command.status.Signaled() {
		fmt.Fprintf(status, "killed %d\n", command.status.Signal())
	} else {
		fmt.Fprintf(status, "exited %d\n", command.status.ExitStatus())
	}
	return 0
}

// startFailure is an error of the system at a stage of starting the command.
type startFailure struct {
	errno syscall.Errno
	stage int
}

func (f *startFailure) Error() string { return f.errno.Error() }

func newStartFailure(err error, stage int) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EINVAL
	}
	return &startFailure{errno, stage}
}

// startCommand starts the command, and closes the guard's copies of its stdin, stdout and stderr.
func (r request) startCommand() (*leader, error) {
	// A server is started anyway: only descendants that leave its group may outlive it then.
	if err := becomeSubreaper(); err != nil && !r.lingers {
		return nil, newStartFailure(err, stageSubreaper)
	}
	if r.dir {
		if err := syscall.Fchdir(dirFile); err != nil {
			return nil, newStartFailure(err, stageDir)
		}
		syscall.Close(dirFile)
	}
	pid, err := syscall.ForkExec(r.path, r.args, &syscall.ProcAttr{
		Env:   r.env,
		Files: []uintptr{stdinFile, stdoutFile, stderrFile},
		Sys:   commandAttr(),
	})
	for _, fd := range []int{stdinFile, stdoutFile, stderrFile} {
		syscall.Close(fd)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(r.path); statErr == nil {
			return nil, newStartFailure(err, stageInterpreter)
		}
	}
	if err != nil {
		return nil, newStartFailure(err, stageProgram)
	}
	return &leader{pid: pid}, nil
}

// await forwards signals until the command has ended, the program has closed control, or the
// program has died. Checking the parent is necessary: a process that the program was starting when
// it was killed may hold control open for a while. It reports whether it has forwarded SIGKILL.
func (c *leader) await(program int, signals <-chan syscall.Signal,
	wake <-chan os.Signal) (killed bool) {
	for !c.ended() && os.Getppid() == program {
		select {
		case sig, ok := <-signals:
			if !ok {
				return killed
			}
			syscall.Kill(-c.pid, sig)
			killed = killed || sig == syscall.SIGKILL
		case <-wake:
		}
	}
	return killed
}

// orphanGrace is how long a server may take to end by itself after the program has died, and again
// after SIGTERM.
const orphanGrace = 400 * time.Millisecond

// linger waits until the program has read the output of a command that has ended. If instead the
// program has died, linger gives the command time to end by itself.
func (c *leader) linger(program int, status *os.File, signals <-chan syscall.Signal,
	wake <-chan os.Signal) {
	if c.ended() {
		if !keepsDead {
			return
		}
		fmt.Fprintln(status, "ended")
		for os.Getppid() == program {
			select {
			case _, ok := <-signals:
				if !ok {
					return
				}
			case <-wake:
			}
		}
		return
	}
	if c.endsWithin(orphanGrace, wake) {
		return
	}
	syscall.Kill(-c.pid, syscall.SIGTERM)
	c.endsWithin(orphanGrace, wake)
}

// endsWithin waits for the end of the command.
func (c *leader) endsWithin(patience time.Duration, wake <-chan os.Signal) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !c.ended() {
		select {
		case <-wake:
		case <-timer.C:
			return false
		}
	}
	return true
}

// killAll waits between minKillWait and maxKillWait for killed processes to die. The death of a
// child ends the wait.
const (
	minKillWait = time.Millisecond
	maxKillWait = 250 * time.Millisecond
)

// killAll kills until no descendant is left. It does not give up, because nothing would kill the
// rest.
func (c *leader) killAll(wake <-chan os.Signal) {
	syscall.Kill(-c.pid, syscall.SIGKILL) // no process of the group can fork after this
	for wait := minKillWait; !c.reap(); wait = min(2*wait, maxKillWait) {
		killDescendants()
		select {
		case <-wake:
			wait = minKillWait
		case <-time.After(wait):
		}
	}
}

// reap reaps dead children, and reports whether no child is left, dead or alive.
func (c *leader) reap() bool {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		case pid == c.pid && !c.reaped:
			c.status, c.reaped = status, true
		}
	}
}

// closeOnExec keeps the guard's files from the command: those that the program passed, and those
// that the program itself inherited.
func closeOnExec() {
	for fd := controlFile; fd <= dirFile; fd++ {
		syscall.CloseOnExec(fd)
	}
	open, _ := os.ReadDir("/dev/fd")
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
