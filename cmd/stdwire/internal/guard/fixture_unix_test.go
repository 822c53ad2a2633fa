//go:build unix

package guard

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
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
