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
	"gotest.tools/v3/assert"
)

const fixtureEnv = "GUARD_FIXTURE"

// fixtures are what this test program does when it is started as a command, or as a program that
// starts commands.
var fixtures = map[string]func(args []string){
	// stubborn heeds no polite signal. It says who it is, and ends by itself long after the test.
	"stubborn": func([]string) {
		ignoreAll()
		fmt.Println(os.Getpid())
		<-time.After(2 * time.Minute)
	},
	// daemon is stubborn, and has a stubborn child that is apart.
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
	// program starts as many trees as it is told, says who they all are, and ends when its stdin
	// does.
	"program": func(args []string) {
		trees, err := strconv.Atoi(args[0])
		check(err)
		lines := make(chan string)
		for range trees {
			go func() {
				p, err := Start(context.Background(), fixture("tree"))
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

// script does what its arguments say, one after the other.
func script(steps []string) {
	stdin := bufio.NewReader(os.Stdin)
	for _, step := range steps {
		verb, text, _ := strings.Cut(step, " ")
		switch verb {
		case "out":
			os.Stdout.WriteString(text)
		case "err":
			os.Stderr.WriteString(text)
		case "line": // says what it has read
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
	treePids    = 4 // that a tree says: itself, the stubborn, the daemon, and the daemon's child
	programPids = treePids + 1
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// spawn starts another fixture, which shares all files with this one. It may be apart: in a session
// of its own, or on Windows in a process group of its own and without the console.
func spawn(name string, apart bool) {
	cmd := exec.Command(self())
	cmd.Env = []string{fixtureEnv + "=" + name}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if apart {
		cmd.SysProcAttr = apartAttr()
	}
	check(cmd.Start())
}

func TestMain(m *testing.M) {
	Main()
	maps.Copy(fixtures, systemFixtures)
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run(os.Args[1:])
		// not os.Exit: coverage would write to stderr, the race detector take a second
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

func fixture(name string, args ...string) Command {
	return Command{Name: self(), Args: args, Env: []string{fixtureEnv + "=" + name}}
}

func scripted(steps ...string) Command { return fixture("script", steps...) }

// self is the path of this test program.
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
		within(t, p.Done())
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

// readPids reads that many lines with a pid each, and sees to it that none of them survives the
// test.
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
			if alive(pids[i]) {
				kill(pids[i])
			}
		})
	}
	return pids
}

// limit sees to it that reads of f end, if only by an error.
func limit(t *testing.T, f *os.File) {
	err := f.SetReadDeadline(time.Now().Add(patience))
	if errors.Is(err, os.ErrNoDeadline) {
		timer := time.AfterFunc(patience, func() { f.Close() })
		t.Cleanup(func() { timer.Stop() })
		return
	}
	assert.NilError(t, err)
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
