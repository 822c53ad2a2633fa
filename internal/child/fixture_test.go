//go:build unix

package child

import (
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

const fixtureEnv = "CHILD_FIXTURE"

// fixtures are what this test program does when it is started as a child.
var fixtures = map[string]func(){
	// stubborn heeds neither the end of its stdin nor SIGTERM.
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		<-time.After(5 * time.Minute)
	},
	// chatty writes 10 MiB to stderr before it says a word.
	"chatty": func() {
		line := append(bytes.Repeat([]byte("x"), 1023), '\n')
		for range 10 << 10 {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "the last line")
		fmt.Println("done")
	},
	// burst writes as many bytes as it is told, and exits.
	"burst": func() {
		n, _ := strconv.Atoi(os.Args[1])
		os.Stdout.Write(bytes.Repeat([]byte("0123456789abcdef"), n/16))
	},
	// escape starts a process that holds stdout and stderr in a session of its own.
	"escape": func() {
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	},
	// parent starts cat, with a grandchild, as a program that uses this package would.
	"parent": func() {
		p, err := Start(context.Background(), Config{Command: "sh", Args: []string{"-c", "cat & cat"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Pid())
		p.Wait()
	},
}

func TestMain(m *testing.M) {
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run()
		syscall.Exit(0) // not os.Exit: coverage would write to stderr, the race detector take a second
	}
	os.Exit(m.Run())
}

func fixture(name string, args ...string) Config {
	return Config{Command: os.Args[0], Args: args, Env: map[string]string{fixtureEnv: name}}
}

func shell(script string) Config {
	return Config{Command: "sh", Args: []string{"-c", script}}
}

func startChild(t *testing.T, cfg Config) *Process {
	t.Helper()
	return startAs(t, cfg, awaitExit)
}

func startAs(t *testing.T, cfg Config, awaitExit func(int) bool) *Process {
	t.Helper()
	p, err := start(t.Context(), cfg, awaitExit)
	assert.NilError(t, err)
	t.Cleanup(func() { p.Stop(expired()) })
	return p
}

// bothWays runs a test with the two ways to notice an exit.
func bothWays(t *testing.T, test func(t *testing.T, awaitExit func(int) bool)) {
	t.Run("killed before reaped", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("needs waitid with WNOWAIT")
		}
		test(t, awaitExit)
	})
	t.Run("reaped before killed", func(t *testing.T) { test(t, func(int) bool { return false }) })
}

// expired is a context that has ended.
func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		_, err := r.Read(b)
		assert.NilError(t, err, "after %q", line)
		if b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(readLine(t, r)))
	assert.NilError(t, err)
	return pid
}

// within fails the test if c is not closed in time.
func within(t *testing.T, d time.Duration, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(d):
		t.Fatalf("%s: not within %v", what, d)
	}
}

// eventually polls until ok, and fails the test if that takes too long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: still not", what)
		}
	}
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	// A zombie whose parent takes its time is not alive. Without /proc it is.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || runtime.GOOS != "linux"
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
}
