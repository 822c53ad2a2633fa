//go:build linux

package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Process is a running process.
type Process struct {
	Pid     int
	Command string
}

func (p Process) String() string { return fmt.Sprintf("%d %s", p.Pid, p.Command) }

// RunningIn returns the processes whose working directory is dir or below it. dir must contain no
// symbolic links. It finds them whatever parent, process group and session they have. It omits
// processes that have been sent SIGKILL.
func RunningIn(dir string) (all []Process) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		in, err := os.Readlink(link)
		if err != nil || in != dir && !strings.HasPrefix(in, dir+"/") {
			continue // another user's, or ended
		}
		process := filepath.Dir(link)
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || len(command) == 0 || isDying(process) {
			continue // a zombie
		}
		all = append(all, Process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return all
}

// isDying reports whether a process has been sent SIGKILL or is exiting.
func isDying(process string) bool {
	status, _ := os.ReadFile(filepath.Join(process, "status"))
	for line := range strings.Lines(string(status)) {
		name, mask, _ := strings.Cut(line, ":")
		pending, _ := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		if (name == "SigPnd" || name == "ShdPnd") && pending&(1<<(syscall.SIGKILL-1)) != 0 {
			return true
		}
	}
	const exiting = 0x4 // PF_EXITING
	stat, _ := os.ReadFile(filepath.Join(process, "stat"))
	// after the name: state, ppid, pgrp, session, tty, tpgid, flags
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 7 {
		return true // ended
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&exiting != 0
}

// KillIn waits up to a minute for the processes of RunningIn to end, kills the others and returns
// them.
func KillIn(dir string) (killed []Process) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		if len(RunningIn(dir)) == 0 {
			return nil
		}
	}
	killed = RunningIn(dir)
	for _, p := range killed {
		_ = syscall.Kill(p.Pid, syscall.SIGKILL)
	}
	return killed
}
