package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

const fixtureEnv = "GUARD_FIXTURE"

// fixtures are programs that this test program becomes when it is started as a command, or as a
// program that starts commands.
var fixtures = map[string]func(args []string){
	// stubborn ignores signals. It writes its id, and exits by itself long after the test.
	"stubborn": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		<-time.After(2 * time.Minute)
	},
	// daemon is stubborn, and has a stubborn child in another session.
	"daemon": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		spawn("stubborn", true)
		<-time.After(2 * time.Minute)
	},
	// daemonize leaves a daemon behind.
	"daemonize": func([]string) { spawn("daemon", true) },
	// tree has a stubborn child in its group and a daemon outside, and leaves with status 7 when it
	// reads a line.
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
	// program starts a number of trees, writes the ids of their processes, and exits at the end of
	// its stdin.
	"program": func(args []string) {
		trees, err := strconv.Atoi(args[0])
		check(err)
		lines := make(chan string)
		for range trees {
			go func() {
				p, err := Start(context.Background(), fixtureCommand("tree"))
				check(err)
				lines <- fmt.Sprintln(guardPid(p))
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
	"script": script,
}

// script executes its arguments one after the other.
func script(steps []string) {
	stdin := bufio.NewReader(os.Stdin)
	for _, step := range steps {
		verb, text, _ := strings.Cut(step, " ")
		switch verb {
		case "out":
			os.Stdout.WriteString(text)
		case "err":
			os.Stderr.WriteString(text)
		case "line": // writes the line it has read
			line, err := stdin.ReadString('\n')
			check(err)
			fmt.Print("got ", line)
		case "read":
			_, err := stdin.ReadString('\n')
			check(err)
		case "cat":
			io.Copy(os.Stdout, stdin)
		case "args":
			fmt.Printf("%q\n", steps)
			return
		case "environ":
			fmt.Print(strings.Join(os.Environ(), "\n"))
		case "directory":
			dir, err := os.Getwd()
			check(err)
			fmt.Print(dir)
		case "close":
			check(map[string]*os.File{"stdin": os.Stdin, "stdout": os.Stdout}[text].Close())
		case "hang":
			<-time.After(2 * time.Minute)
		case "exit":
			status, err := strconv.Atoi(text)
			check(err)
			syscall.Exit(status)
		default:
			panic(step)
		}
	}
}

const (
	// ids that a tree writes: its own, the stubborn child's, the daemon's, and the daemon's child's
	treePids    = 4
	programPids = treePids + 1
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// spawn starts another fixture, which shares all files with this one. If detached, it is in a
// session of its own, or on Windows in a process group of its own and without the console.
func spawn(name string, detached bool) {
	cmd := exec.Command(self())
	cmd.Env = []string{fixtureEnv + "=" + name}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if detached {
		cmd.SysProcAttr = detachedAttr()
	}
	check(cmd.Start())
}

func TestMain(m *testing.M) {
	Main()
	maps.Copy(fixtures, systemFixtures)
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run(os.Args[1:])
		// with os.Exit, coverage would write to stderr, and the race detector wait a second
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

func fixtureCommand(name string, args ...string) Command {
	return Command{Name: self(), Args: args, Env: []string{fixtureEnv + "=" + name}}
}

func scriptCommand(steps ...string) Command { return fixtureCommand("script", steps...) }

// self returns the path of this test program.
func self() string {
	path, err := os.Executable()
	check(err)
	return path
}

func startCommand(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(t.Context(), c)
	assert.NilError(t, err)
	t.Cleanup(func() {
		p.Kill()
		waitFor(t, p.Done())
		processgroup.CloseAll(p.Stdin(), p.Stdout(), p.Stderr())
	})
	return p
}

// output reads all of stdout.
func output(t *testing.T, p *Process) string {
	t.Helper()
	limit(t, p.Stdout())
	out, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	return string(out)
}

// readPids reads n lines with a pid each, and kills these processes at the end of the test.
func readPids(t *testing.T, f *os.File, n int) []int {
	t.Helper()
	limit(t, f)
	r := bufio.NewReaderSize(f, 16)
	pids := make([]int, n)
	for i := range pids {
		line, err := r.ReadString('\n')
		assert.NilError(t, err, "after %v", pids[:i])
		pids[i], err = strconv.Atoi(strings.TrimSpace(line))
		assert.NilError(t, err)
		t.Cleanup(func() {
			if processtest.Runs(pids[i]) {
				kill(pids[i])
			}
		})
	}
	return pids
}

// limit sets a deadline for reads of f.
func limit(t *testing.T, f *os.File) {
	err := f.SetReadDeadline(time.Now().Add(testTimeout))
	if errors.Is(err, os.ErrNoDeadline) {
		timer := time.AfterFunc(testTimeout, func() { f.Close() })
		t.Cleanup(func() { timer.Stop() })
		return
	}
	assert.NilError(t, err)
}

// testTimeout is the time that a test waits for something that should happen at once.
const testTimeout = time.Minute

func waitFor(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(testTimeout):
		t.Fatalf("not within %v", testTimeout)
	}
}

// allReaped checks that the processes have been reaped, as Done promises.
func allReaped(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		assert.Assert(t, !processtest.Exists(pid), "process %d of %v", pid, pids)
	}
}
