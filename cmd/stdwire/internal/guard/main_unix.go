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

// child is the command, a child process of its guard.
type child struct {
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
	command.await(req.parent, signals, wake)
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
func (r request) startCommand() (*child, error) {
	if err := becomeSubreaper(); err != nil {
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
	return &child{pid: pid}, nil
}

// await forwards signals until the command has ended, the program has closed control, or the
// program has died. Checking the parent is necessary: a process that the program was starting when
// it was killed may hold control open for a while.
func (c *child) await(program int, signals <-chan syscall.Signal, wake <-chan os.Signal) {
	for !c.ended() && os.Getppid() == program {
		select {
		case sig, ok := <-signals:
			if !ok {
				return
			}
			syscall.Kill(-c.pid, sig)
		case <-wake:
		}
	}
}

// killAll waits between minKillWait and maxKillWait for killed processes to die. The death of a
// child ends the wait.
const (
	minKillWait = time.Millisecond
	maxKillWait = 250 * time.Millisecond
)

// killAll kills until no descendant is left. It does not give up, because nothing would kill the
// rest.
func (c *child) killAll(wake <-chan os.Signal) {
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
func (c *child) reap() bool {
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
