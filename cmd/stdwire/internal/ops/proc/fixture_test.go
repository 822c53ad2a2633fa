package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"gotest.tools/v3/assert"
)

// fixtureEnv is set if this test program is a program that the operations start: it executes its
// arguments as steps, and exits with status 0.
const fixtureEnv = "PROC_FIXTURE"

func TestMain(m *testing.M) {
	guard.Main()
	if os.Getenv(fixtureEnv) != "" {
		runSteps(os.Args[1:])
		exit(0)
	}
	os.Exit(m.Run())
}

// exit avoids os.Exit, with which coverage would write to stderr, and the race detector wait a
// second.
func exit(code int) { syscall.Exit(code) }

// steps maps the first word of a step to a function, which gets the rest of the step as text.
var steps = map[string]func(text string){
	"say":    func(text string) { fmt.Println(text) },
	"write":  func(text string) { fmt.Print(text) },
	"warn":   func(text string) { fmt.Fprintln(os.Stderr, text) },
	"hex":    func(text string) { os.Stdout.Write(unhex(text)) },
	"exit":   func(text string) { exit(number(text)) },
	"skip":   func(string) { line() },
	"repeat": func(string) { fmt.Println(line()) },
	"copy":   func(string) { io.Copy(os.Stdout, stdin) },
	"sleep":  func(string) { <-time.After(5 * time.Minute) },
	"close":  func(string) { os.Stdin.Close() },
	"ignore": func(string) { ignore() },
	"trap":   func(string) { trap() },

	"pause": func(text string) { <-time.After(milliseconds(number(text))) },
	"executable": func(string) {
		path, err := os.Executable()
		check(err)
		fmt.Println(path)
	},

	// count writes the number of bytes read.
	"count": func(string) {
		n, _ := io.Copy(io.Discard, stdin)
		fmt.Println(n)
	},
	// await waits for a file.
	"await": func(name string) {
		for {
			if _, err := os.Stat(name); err == nil {
				return
			}
			<-time.After(time.Millisecond)
		}
	},
	// fill writes a number of x.
	"fill": func(text string) {
		chunk := []byte(strings.Repeat("x", 32<<10))
		for left := number(text); left > 0; left -= len(chunk) {
			os.Stdout.Write(chunk[:min(left, len(chunk))])
		}
	},
	// lines writes a number of numbered lines.
	"lines": func(text string) {
		for i := range number(text) {
			fmt.Printf("line %d\n", i)
		}
	},
	// both writes a number of numbers alternately to stdout and stderr.
	"both": func(text string) {
		for i := range number(text) {
			fmt.Println(i)
			fmt.Fprintln(os.Stderr, i)
		}
	},
	"environ": func(string) {
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
	},
	"directory": func(string) {
		dir, err := os.Getwd()
		check(err)
		fmt.Println(dir)
	},
	// children starts sleepers that share stdin, stdout and stderr, and writes a line with this
	// process's id and theirs.
	"children": func(text string) {
		pids := []string{strconv.Itoa(os.Getpid())}
		for range number(text) {
			cmd := exec.Command(os.Args[0], "ignore", "sleep")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			check(cmd.Start())
			pids = append(pids, strconv.Itoa(cmd.Process.Pid))
		}
		fmt.Println(strings.Join(pids, " "))
	},
}

// stubborn are the steps of a process that, like its two children, ignores the signals that it can
// and the end of its input. It writes a line with the three process ids.
var stubborn = []string{"ignore", "children 2", "sleep"}

// runSteps executes steps. The step "arguments" writes the following ones, quoted, and is the
// last.
func runSteps(all []string) {
	for i, step := range all {
		if step == "arguments" {
			fmt.Printf("%q\n", all[i+1:])
			return
		}
		name, text, _ := strings.Cut(step, " ")
		steps[name](text)
	}
}

var stdin = bufio.NewReader(os.Stdin)

func line() string {
	text, _ := stdin.ReadString('\n')
	return strings.TrimSuffix(text, "\n")
}

func ignore() { signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) }

// trap writes a line for each signal, which then does not end the process.
func trap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range signals {
			fmt.Println("signalled")
		}
	}()
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func unhex(text string) (data []byte) {
	_, err := fmt.Sscanf(text, "%x", &data)
	check(err)
	return data
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// self returns the path of this test program.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	assert.NilError(t, err)
	return path
}

// program returns the arguments of proc.start that make this test program execute steps.
func program(t testing.TB, steps ...string) args {
	t.Helper()
	steps = append([]string{}, steps...)
	return args{"command": self(t), "args": steps, "env": []string{fixtureEnv + "=1"}}
}

// start starts this test program with steps, and returns the id of its session.
func (s *testService) start(t testing.TB, steps ...string) string {
	t.Helper()
	return run[StartOutput](t, s, "proc.start", program(t, steps...)).Session
}

// pids reads the three process ids that a stubborn process writes.
func (s *testService) pids(t testing.TB, session string) []int {
	t.Helper()
	all := make([]int, 3)
	_, err := fmt.Sscan(s.expect(t, session, `^\d+ \d+ \d+\n`), &all[0], &all[1], &all[2])
	assert.NilError(t, err)
	return all
}
