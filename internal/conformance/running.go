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

// A Process runs.
type Process struct {
	Pid     int
	Command string
}

func (p Process) String() string { return fmt.Sprintf("%d %s", p.Pid, p.Command) }

// RunningIn returns the processes whose working directory is dir, which must be free of symbolic links, or below it. By that they are
// found whatever became of their parents, groups and sessions. Those that have been sent SIGKILL are about to be gone, and not among them.
func RunningIn(dir string) (all []Process) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		in, err := os.Readlink(link)
		if err != nil || in != dir && !strings.HasPrefix(in, dir+"/") {
			continue // that of another user, or gone
		}
		process := filepath.Dir(link)
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || len(command) == 0 || isDying(process) {
			continue // it has ended, and waits for its parent to notice
		}
		all = append(all, Process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return all
}

// isDying reports whether a process has been sent SIGKILL, or is ending.
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
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // behind the name: state, ppid, pgrp, session, tty, tpgid, flags
	if len(fields) < 7 {
		return true // it is gone
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&exiting != 0
}

// KillIn gives the processes that RunningIn returns three seconds to end, and then kills them and returns them.
func KillIn(dir string) (killed []Process) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); <-tick.C {
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
