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

// Main is to be called first thing in main, and in TestMain. It returns at once, unless this process was started as a guard: then it does a guard's
// work and never returns.
func Main() {
	if !isGuard() {
		return
	}
	// The thread that starts the command has to last: the command is killed when it ends.
	runtime.LockOSThread()
	// Not os.Exit, which in builds for coverage or the race detector has more to do than to exit.
	syscall.Exit(run())
}

func isGuard() bool { return len(os.Args) == 2 && os.Args[1] == marker }

// guarded is the command as its guard sees it.
type guarded struct {
	pid    int
	status syscall.WaitStatus
	reaped bool // pid and status are history
}

// run is a guard's work, and returns its exit status, which nobody looks at.
func run() int {
	// Every signal, whoever sent it, only makes the guard look at its children. They are caught, not ignored, as the command would inherit that.
	wake := make(chan os.Signal, 1)
	signal.Notify(wake)
	closeOnExec()
	control := bufio.NewReader(os.NewFile(controlFile, "control"))
	status := os.NewFile(statusFile, "status")
	o, err := readOrder(control)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is how this program starts itself to watch over a command; it is of no use by hand: %v\n", marker, err)
		return 2
	}
	command, err := launch(o)
	if err != nil {
		failure, _ := errors.AsType[*failure](err)
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
	command.await(o.parent, signals, wake)
	command.sweep(wake)
	if command.status.Signaled() {
		fmt.Fprintf(status, "killed %d\n", command.status.Signal())
	} else {
		fmt.Fprintf(status, "exited %d\n", command.status.ExitStatus())
	}
	return 0
}

type failure struct {
	errno syscall.Errno
	stage int
}

func (f *failure) Error() string { return f.errno.Error() }

// failed makes a failure of an error of the system.
func failed(err error, stage int) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EINVAL
	}
	return &failure{errno, stage}
}

// launch starts the command, and leaves it the only holder of its stdin, stdout and stderr.
func launch(o order) (*guarded, error) {
	if err := adopt(); err != nil {
		return nil, failed(err, stageAdopt)
	}
	if o.dir {
		if err := syscall.Fchdir(dirFile); err != nil {
			return nil, failed(err, stageDir)
		}
		syscall.Close(dirFile)
	}
	pid, err := syscall.ForkExec(o.path, o.args, &syscall.ProcAttr{
		Env:   o.env,
		Files: []uintptr{stdinFile, stdoutFile, stderrFile},
		Sys:   commandAttr(),
	})
	for _, fd := range []int{stdinFile, stdoutFile, stderrFile} {
		syscall.Close(fd)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(o.path); statErr == nil {
			return nil, failed(err, stageInterpreter)
		}
	}
	if err != nil {
		return nil, failed(err, stageProgram)
	}
	return &guarded{pid: pid}, nil
}

// await passes signals on until the command has ended, or the program wants it ended, or is no more. Control may outlive the program for a
// while: in a process that it was about to start when it was killed.
func (g *guarded) await(program int, signals <-chan syscall.Signal, wake <-chan os.Signal) {
	for !g.ended() && os.Getppid() == program {
		select {
		case sig, ok := <-signals:
			if !ok {
				return
			}
			syscall.Kill(-g.pid, sig)
		case <-wake:
		}
	}
}

// How long a sweep waits for those who were killed to die before it looks again. A dying child ends the wait.
const (
	sweepSoonest = time.Millisecond
	sweepLatest  = 250 * time.Millisecond
)

// sweep kills until there is nobody left. It does not give up: nobody else would come after it.
func (g *guarded) sweep(wake <-chan os.Signal) {
	syscall.Kill(-g.pid, syscall.SIGKILL) // none of the group can fork any more
	for wait := sweepSoonest; !g.reap(); wait = min(2*wait, sweepLatest) {
		killDescendants()
		select {
		case <-wake:
			wait = sweepSoonest
		case <-time.After(wait):
		}
	}
}

// reap reaps who is dead, and reports whether there are no children left, dead or alive.
func (g *guarded) reap() bool {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return true
		case pid == 0:
			return false
		case pid == g.pid && !g.reaped:
			g.status, g.reaped = status, true
		}
	}
}

// closeOnExec keeps from the command what files the guard has. Besides those it was given, these are files that were left open to the program by
// whoever started it.
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
