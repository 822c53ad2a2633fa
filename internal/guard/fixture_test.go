//go:build unix

package guard

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

const fixtureEnv = "GUARD_FIXTURE"

// fixtures are what this test program does when it is started as a command, or as a program that starts commands.
var fixtures = map[string]func(args []string){
	// stubborn heeds no polite signal. It says who it is, and ends by itself long after the test.
	"stubborn": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		<-time.After(2 * time.Minute)
	},
	// daemon is stubborn, and has a stubborn child in a session of its own.
	"daemon": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		spawn("stubborn", true)
		<-time.After(2 * time.Minute)
	},
	// daemonize leaves a daemon behind.
	"daemonize": func([]string) { spawn("daemon", true) },
	// tree has a stubborn child in its group and a daemon outside, and leaves with status 7 when it reads a line.
	"tree": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		spawn("stubborn", false)
		spawn("daemonize", true)
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			<-time.After(2 * time.Minute)
		}
		syscall.Exit(7)
	},
	// program starts as many trees as it is told, says who they all are, and ends when its stdin does.
	"program": func(args []string) {
		trees, err := strconv.Atoi(args[0])
		check(err)
		lines := make(chan string)
		for range trees {
			go func() {
				p, err := Start(context.Background(), fixture("tree"))
				check(err)
				lines <- fmt.Sprintln(p.parent.Pid)
				r := bufio.NewReader(p.Stdout())
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					lines <- line
				}
			}()
		}
		go func() {
			for line := range lines {
				fmt.Print(line)
			}
		}()
		io.Copy(io.Discard, os.Stdin)
	},
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

const (
	treePids    = 4 // that a tree says: itself, the stubborn, the daemon, and the daemon's child
	programPids = treePids + 1
)

func ignoreAll() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// spawn starts another fixture, which shares all files with this one.
func spawn(name string, setsid bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{fixtureEnv + "=" + name}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	check(cmd.Start())
}

func TestMain(m *testing.M) {
	Main()
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run(os.Args[1:])
		syscall.Exit(0) // not os.Exit: coverage would write to stderr, the race detector take a second
	}
	os.Exit(m.Run())
}

func fixture(name string, args ...string) Command {
	return Command{Name: os.Args[0], Args: args, Env: []string{fixtureEnv + "=" + name}}
}

func shell(script string) Command {
	return Command{Name: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func startCommand(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(t.Context(), c)
	assert.NilError(t, err)
	t.Cleanup(func() {
		p.Kill()
		within(t, p.Done())
		closeAll(p.Stdin(), p.Stdout(), p.Stderr())
	})
	return p
}

// output reads all of stdout.
func output(t *testing.T, p *Process) string {
	t.Helper()
	assert.NilError(t, p.Stdout().SetReadDeadline(time.Now().Add(patience)))
	out, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	return string(out)
}

// readPids reads that many lines with a pid each, and sees to it that none of them survives the test.
func readPids(t *testing.T, f *os.File, n int) []int {
	t.Helper()
	assert.NilError(t, f.SetReadDeadline(time.Now().Add(patience)))
	r := bufio.NewReaderSize(f, 16)
	pids := make([]int, n)
	for i := range pids {
		line, err := r.ReadString('\n')
		assert.NilError(t, err, "after %v", pids[:i])
		pids[i], err = strconv.Atoi(strings.TrimSpace(line))
		assert.NilError(t, err)
		t.Cleanup(func() {
			if alive(pids[i]) {
				syscall.Kill(pids[i], syscall.SIGKILL)
			}
		})
	}
	return pids
}

// patience is how long a test waits for something that should happen at once.
const patience = 20 * time.Second

func within(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("not within %v", patience)
	}
}

// eventually polls until ok, and fails the test if that takes too long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: still not", what)
		}
	}
}

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

func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
	}
}

// allReaped is what Done promises.
func allReaped(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		assert.Assert(t, reaped(pid), "process %d of %v", pid, pids)
	}
}
