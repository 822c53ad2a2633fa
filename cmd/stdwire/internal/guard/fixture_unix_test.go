//go:build unix

package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	programName = "tool"
	brokenPipe  = syscall.EPIPE
)

// systemVariable reports whether the system adds a variable to an environment.
func systemVariable(kv string) bool { return false }

var systemFixtures = map[string]func(args []string){
	"forkSessions": forkSessions,
	// leaky leaks the control pipe of its command to a process that outlives it.
	"leaky": func([]string) {
		p, err := Start(context.Background(), fixtureCommand("stubborn"))
		check(err)
		holder := exec.Command("sleep", "120")
		holder.ExtraFiles = []*os.File{p.control}
		check(holder.Start())
		fmt.Println(holder.Process.Pid)
		fmt.Println(p.guard.Pid)
		io.Copy(os.Stdout, p.Stdout())
	},
}

func ignoreAll() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func guardPid(p *Process) int { return p.guard.Pid }

func shell(script string) Command {
	return Command{Name: "sh", Args: []string{"-c", script},
		Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// reaped reports whether no such process exists, dead or alive.
func reaped(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// alive reports whether a process runs. A zombie does not: its parent may reap it later.
func alive(pid int) bool {
	if reaped(pid) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(rest, []byte("Z"))
	}
	return aliveByPs(pid)
}

// aliveByPs is alive for systems without /proc.
func aliveByPs(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	_, noSuchProcess := errors.AsType[*exec.ExitError](err)
	return !noSuchProcess && !bytes.HasPrefix(bytes.TrimSpace(state), []byte("Z"))
}

// openFiles returns the number of open files, or 0 without /proc.
func openFiles() int {
	open, _ := filepath.Glob("/proc/self/fd/*")
	return len(open)
}
