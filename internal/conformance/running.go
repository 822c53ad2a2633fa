//go:build linux

package conformance

import (
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
// found whatever became of their parents, groups and sessions.
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
		if err != nil || len(command) == 0 {
			continue // it has ended, and waits for its parent to notice
		}
		all = append(all, Process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
	}
	return all
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
