package child

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// fixtures are programs that this test program becomes when it is started as a child.
var fixtures = map[string]func(){
	// stubborn ignores the end of its stdin and requests to end.
	"stubborn": func() {
		heedNothing()
		fmt.Println("ready")
		<-time.After(5 * time.Minute)
	},
	// chatty writes 10 MiB to stderr before it writes to stdout.
	"chatty": func() {
		line := append(bytes.Repeat([]byte("x"), 1023), '\n')
		for range 10 << 10 {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "the last line")
		fmt.Println("done")
	},
	// burst writes a number of bytes, and exits.
	"burst": func() {
		n, _ := strconv.Atoi(os.Args[1])
		os.Stdout.Write(bytes.Repeat([]byte("0123456789abcdef"), n/16))
	},
	// parent runs a script as a program that uses this package.
	"parent": func() {
		p, err := Start(context.Background(), scripted(os.Args[1:]...))
		check(err)
		fmt.Println(p.Pid())
		go io.Copy(os.Stdout, p.Stdout())
		p.Wait()
	},
}

// script executes its arguments one after the other.
func script() {
	stdin := bufio.NewReader(os.Stdin)
	for _, step := range os.Args[1:] {
		verb, text, _ := strings.Cut(step, " ")
		switch verb {
		case "out":
			fmt.Println(text)
		case "err":
			fmt.Fprintln(os.Stderr, text)
		case "line": // writes the line it has read
			line, err := stdin.ReadString('\n')
			check(err)
			fmt.Print("got ", line)
		case "cat":
			io.Copy(os.Stdout, stdin)
		case "flood":
			for {
				os.Stdout.WriteString("y\n")
				os.Stderr.WriteString("y\n")
			}
		case "trickle":
			for range time.Tick(50 * time.Millisecond) {
				fmt.Fprintln(os.Stderr, "y")
				fmt.Println("x")
			}
		case "stubborn":
			heedNothing()
			<-time.After(5 * time.Minute)
		case "hang":
			<-time.After(5 * time.Minute)
		case "spawn":
			// starts a script of one step, which shares all files with this one, and writes its id
			spawn(text, os.Stdout, os.Stderr)
		case "spawnquiet": // shares no file
			spawn(text, nil, nil)
		case "environ":
			fmt.Println(strings.Join(os.Environ(), "\n"))
		case "directory":
			dir, err := os.Getwd()
			check(err)
			fmt.Println(dir)
		case "args": // as JSON
			check(json.NewEncoder(os.Stdout).Encode(os.Args[1:]))
			return
		case "exit":
			status, err := strconv.Atoi(text)
			check(err)
			syscall.Exit(status)
		default:
			panic(step)
		}
	}
}

func spawn(step string, stdout, stderr *os.File) {
	cmd := exec.Command(self(), step)
	if stdout != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	}
	check(cmd.Start())
	fmt.Println(cmd.Process.Pid)
}

// heedNothing catches requests to end and ignores them. With signal.Ignore, Windows would end the
// process.
func heedNothing() { signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	fixtures["script"] = script
	maps.Copy(fixtures, systemFixtures)
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run()
		// with os.Exit, coverage would write to stderr, and the race detector wait a second
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

func fixture(name string, args ...string) Config {
	return Config{Command: self(), Args: args, Env: map[string]string{fixtureEnv: name}}
}

func scripted(steps ...string) Config { return fixture("script", steps...) }

// self returns the path of this test program.
func self() string {
	path, err := os.Executable()
	check(err)
	return path
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

// bothWays runs a test with and without waitid.
func bothWays(t *testing.T, test func(t *testing.T, awaitExit func(int) bool)) {
	t.Run("killed before reaped", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("needs waitid with WNOWAIT")
		}
		test(t, awaitExit)
	})
	t.Run("reaped before killed", func(t *testing.T) { test(t, func(int) bool { return false }) })
}

// expired returns a context that has ended.
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

// patience is how long tests wait for something that happens by itself. It is less than the life of
// fixtures that do not end by themselves.
const patience = time.Minute

// awaitDone fails the test if p is not done in time.
func awaitDone(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("not done within %v", patience)
	}
}
