//go:build unix

package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

var systemFixtures = map[string]func(args []string){
	"hopper": hopper,
	// leaky leaves the control of its command to a process that outlives it.
	"leaky": func([]string) {
		p, err := Start(context.Background(), fixture("stubborn"))
		check(err)
		holder := exec.Command("sleep", "120")
		holder.ExtraFiles = []*os.File{p.control}
		check(holder.Start())
		fmt.Println(holder.Process.Pid)
		fmt.Println(p.parent.Pid)
		io.Copy(os.Stdout, p.Stdout())
	},
}

func ignoreAll() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

func apartAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func guardPid(p *Process) int { return p.parent.Pid }

func shell(script string) Command {
	return Command{Name: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }

// reaped reports whether there is no such process, dead or alive.
func reaped(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// alive takes a zombie for dead: whoever is its parent may take its time. Without /proc it is alive.
func alive(pid int) bool {
	if reaped(pid) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || runtime.GOOS != "linux"
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}
