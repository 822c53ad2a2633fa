//go:build unix

package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// servers maps the only argument of the test binary to the server that it runs.
var servers = map[string]func(s *scripted){
	"modern": func(s *scripted) {
		s.modern()
		s.serve(map[string]string{"tools/call": `{"content":[]}`})
	},
	"weather-server": func(s *scripted) {
		s.modern()
		s.serve(map[string]string{
			"tools/list": `{"tools":[{"name":"weather_get","description":"Current weather.","inputSchema":{"type":"object"}}]}`,
			"tools/call": `{"content":[{"type":"text","text":"12 degrees, light rain"}]}`,
		})
	},
	"legacy": func(s *scripted) {
		s.legacy()
		s.serve(map[string]string{"tools/call": `{"content":[]}`})
	},
	"crash": func(*scripted) { die(3, "boom: missing API key") },
	"crash for want of initialize": func(s *scripted) {
		first := s.read()
		if first.Method != "initialize" {
			die(1, "Error: ExpectedInitializeRequest")
		}
		s.reply(first, initialized)
		s.read()
		s.serve(map[string]string{"tools/call": `{"content":[]}`})
	},
	"crash at both": func(s *scripted) { die(4, "cannot take "+s.read().Method) },
	"silent":        (*scripted).hold,
	"stubborn": func(s *scripted) {
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "thinking")
		liveOn()
	},
	"stubborn after the handshake": func(s *scripted) {
		signal.Ignore(syscall.SIGTERM)
		s.modern()
		liveOn()
	},
	"stubborn asker": func(s *scripted) {
		signal.Ignore(syscall.SIGTERM)
		s.legacy()
		s.ask(7, "elicitation/create", formParams)
		liveOn()
	},
	"crash in a call": func(s *scripted) {
		s.modern()
		s.read()
		die(7, "segfault")
	},
	"crash in an answer": func(s *scripted) {
		s.modern()
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, s.read().ID)
		die(7, "segfault")
	},
	"killed in a call": func(s *scripted) {
		s.modern()
		s.read()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		liveOn()
	},
	"answer and exit": func(s *scripted) {
		s.modern()
		s.reply(s.read(), `{"content":[]}`)
		die(0, "bye")
	},
	"hang up and exit late": func(s *scripted) {
		s.modern()
		s.read()
		s.out.Close()
		time.Sleep(600 * time.Millisecond) // as between the two on a busy machine
		die(7, "segfault")
	},
	"hang up and live on": func(s *scripted) {
		s.modern()
		s.read()
		s.out.Close()
		liveOn()
	},
	"grandchild": func(s *scripted) {
		startGrandchild()
		s.modern()
		s.serve(map[string]string{"tools/call": `{"content":[]}`})
	},
	"crash with grandchild": func(s *scripted) {
		startGrandchild()
		die(3, "boom")
	},
	"large": func(s *scripted) {
		s.modern()
		s.reply(s.read(), `{"content":[{"type":"text","text":"`+pad(5<<20)+`"}]}`)
		s.hold()
	},
	"last words": func(s *scripted) {
		s.modern()
		s.hold()
		s.send("%s\n", pad(200<<10)) // more than a pipe holds, so that the client must read it
		die(0, "said it all")
	},
}

// liveOn never returns. An empty select would be a deadlock to the runtime of a program without
// cgo.
func liveOn() { time.Sleep(math.MaxInt64) }

// startGrandchild starts a process that keeps the pipes open.
func startGrandchild() {
	sleep := exec.Command("sleep", "300")
	sleep.Stdout, sleep.Stderr = os.Stdout, os.Stderr
	if err := sleep.Start(); err != nil {
		panic(err)
	}
}

func die(status int, lastWords string) {
	fmt.Fprintln(os.Stderr, lastWords)
	syscall.Exit(status) // not os.Exit, for which the race detector takes a second
}

func TestMain(m *testing.M) {
	if server := servers[os.Args[len(os.Args)-1]]; server != nil {
		server(&scripted{in: bufio.NewReaderSize(os.Stdin, 1<<20), out: os.Stdout})
		syscall.Exit(0)
	}
	status := m.Run()
	if left := goroutinesLeft(); left != "" && status == 0 {
		fmt.Printf("goroutines left:\n%s\n", left)
		status = 1
	}
	os.Exit(status)
}

// goroutinesLeft returns the stack of a goroutine of this module that has not ended after a moment.
func goroutinesLeft() (left string) {
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		left = ""
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "stdwire/stdwire/") && !strings.Contains(stack, "TestMain") {
				left = stack
			}
		}
		if left == "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// oneProbe keeps the client from sending initialize beside the probe to a server of the modern era
// that takes long to start. A server of a fixed number of messages would read it instead of a call.
var oneProbe = Options{Name: "x", Era: mcp.Modern}

// fake returns the command that starts one of servers.
func fake(name string) Command {
	return Command{Path: os.Args[0], Args: []string{name}, Env: map[string]string{"COLOUR": "blue"},
		Grace: 300 * time.Millisecond}
}

// gone asserts that no process of a group is left.
func gone(t *testing.T, pid int) {
	t.Helper()
	// a process that was just killed may take a moment
	eventually.True(t, fmt.Sprintf("process group %d has ended", pid), func() bool {
		return syscall.Kill(-pid, 0) == syscall.ESRCH || runtime.GOOS == "linux" && !alive(pid)
	})
}

// alive reports whether a process group has a member that is not a zombie, which only init can
// remove.
func alive(group int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(stat), ") ") // after the name: state, parent, group
		if f := strings.Fields(rest); len(f) > 2 && f[0] != "Z" && f[2] == strconv.Itoa(group) {
			return true
		}
	}
	return false
}

func TestSpawn(t *testing.T) {
	for name, want := range map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy,
		"crash for want of initialize": mcp.Legacy, "grandchild": mcp.Modern} {
		t.Run(name, func(t *testing.T) {
			c, err := Options{Name: "x"}.Spawn(t.Context(), fake(name))
			assert.NilError(t, err)
			assert.Equal(t, c.Era(), want)
			p := c.Process()
			assert.Equal(t, p.Command.Path, os.Args[0])
			assert.Assert(t, p.Exit == nil)
			assert.Assert(t, slices.Contains(p.EnvNames, "COLOUR") &&
				slices.Contains(p.EnvNames, "PATH"))
			_, err = c.CallTool(t.Context(), "t", nil)
			assert.NilError(t, err)
			shut(t, c)
			gone(t, p.Pid)
		})
	}
}

func TestSpawnFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		cmd     Command
		options Options
		want    string
		check   func(t *testing.T, err *StartError)
	}{
		{"crash", fake("crash"), Options{Name: "x"},
			`server "x": exited with status 3 before answering: "boom: missing API key"`,
			func(t *testing.T, err *StartError) {
				assert.Equal(t, err.Stderr, "boom: missing API key\n")
				exit, ok := errors.AsType[*ExitError](err)
				assert.Assert(t, ok && exit.Status == 3)
			}},
		{"crash at both", fake("crash at both"), Options{Name: "x"},
			`server "x": exited with status 4 before answering: "cannot take initialize"`, nil},
		{"crash, legacy", fake("crash at both"), Options{Name: "x", Era: mcp.Legacy},
			`server "x": exited with status 4 before answering: "cannot take initialize"`, nil},
		{"crash, modern", fake("crash at both"), Options{Name: "x", Era: mcp.Modern},
			`server "x": exited with status 4 before answering: "cannot take server/discover"`,
			nil},
		{"crash with grandchild", fake("crash with grandchild"), Options{Name: "x"},
			`server "x": exited with status 3 before answering: "boom"`, nil},
		{"silent", fake("silent"), Options{StartTimeout: 300 * time.Millisecond}, "",
			func(t *testing.T, err *StartError) {
				assert.ErrorContains(t, err,
					`server "client.test": no answer to server/discover after `)
				assert.Assert(t, errors.Is(err, context.DeadlineExceeded))
				assert.Assert(t, strings.Contains(err.Hint, "Options.StartTimeout"))
			}},
		{"a launcher that does not find the server",
			Command{Path: "sh", Args: []string{"-c", "echo npm error code E404 >&2; exit 1"}},
			Options{}, `server "sh": exited with status 1 before answering: "npm error code E404"`,
			func(t *testing.T, err *StartError) {
				assert.Assert(t, strings.Contains(err.Hint, "npm does not find the package"))
				assert.Equal(t, strings.Count(err.Stderr, "E404"), 1)
			}},
		{"no program", Command{Path: "no-such-program"}, Options{}, "",
			func(t *testing.T, err *StartError) {
				assert.ErrorContains(t, err,
					`server "no-such-program": cannot start "no-such-program": executable file not found in $PATH`)
				assert.Assert(t, len(err.Error()) < 100, "it does not contain the PATH")
				assert.Equal(t, err.Hint, "install it, or give the path of the program")
				assert.ErrorIs(t, err, exec.ErrNotFound)
				_, ok := errors.AsType[*SpawnError](err)
				assert.Assert(t, ok)
			}},
		{"no file", Command{Path: "/no/such/program"}, Options{}, "",
			func(t *testing.T, err *StartError) {
				assert.ErrorIs(t, err, fs.ErrNotExist)
			}},
		{"a command with spaces", Command{Path: "npx -y server"}, Options{}, "",
			func(t *testing.T, err *StartError) {
				assert.Equal(t, err.Hint,
					"the command contains a space: give the program and its arguments separately")
			}},
		{"bad options", fake("modern"), Options{Revision: "1"},
			`server "client.test": Options.Revision "1" is not known; this client speaks ["2026-07-28" "2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"]`,
			nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			_, err := test.options.Spawn(t.Context(), test.cmd)
			took := time.Since(began)
			start, ok := errors.AsType[*StartError](err)
			assert.Assert(t, ok, "%v", err)
			if test.want != "" {
				assert.Error(t, err, test.want)
			}
			if test.check != nil {
				test.check(t, start)
			}
			assert.Check(t, took < time.Minute, "took %v", took)
			noChildren(t)
		})
	}
}

// A server that ignores everything is killed, and what it has said is in the error.
func TestSpawnStubborn(t *testing.T) {
	for timeout := 300 * time.Millisecond; ; timeout *= 4 {
		_, err := Options{StartTimeout: timeout}.Spawn(t.Context(), fake("stubborn"))
		start, ok := errors.AsType[*StartError](err)
		assert.Assert(t, ok && errors.Is(err, context.DeadlineExceeded), "%v", err)
		noChildren(t)
		if start.Stderr == "" && timeout < 30*time.Second {
			continue // it was killed before it could say something
		}
		assert.Equal(t, start.Stderr, "thinking\n")
		return
	}
}

// noChildren asserts that this process has no child.
func noChildren(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	assert.Check(t, err == syscall.ECHILD, "child %d, %v", pid, err)
}

func TestSpawnIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := fake("silent")
	silent.Started = func(int) { time.AfterFunc(200*time.Millisecond, cancel) }
	_, err := Options{Name: "x"}.Spawn(ctx, silent)
	assert.Error(t, err, `server "x": context canceled`)
	noChildren(t)
	_, err = Options{Name: "x"}.Spawn(ctx, fake("silent"))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestServerDies(t *testing.T) {
	for name, want := range map[string]string{
		"crash in a call":       `exited with status 7: "segfault"`,
		"crash in an answer":    `exited with status 7: "segfault"`,
		"killed in a call":      `ended by signal: killed`,
		"hang up and exit late": `exited with status 7: "segfault"`,
		"hang up and live on":   `closed the connection`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := oneProbe.Spawn(t.Context(), fake(name))
			assert.NilError(t, err)
			began := time.Now()
			_, err = c.CallTool(t.Context(), "t", nil)
			assert.Check(t, time.Since(began) < 30*time.Second)
			assert.Error(t, err, `server "x": tool "t": `+want)
			assert.ErrorIs(t, err, rpc.ErrClosed)
			lost, ok := errors.AsType[*LostError](err)
			assert.Assert(t, ok)
			if lost.Exit != nil {
				assert.Assert(t, !lost.Exit.BeforeReady)
			}
			assert.Error(t, c.Wait(), want) // without Close: nothing is left running
			assert.Error(t, c.Err(), want)
			_, err = c.CallTool(t.Context(), "t", nil)
			assert.Error(t, err, `server "x": tool "t": `+want)
			gone(t, c.Process().Pid)
			assert.NilError(t, c.Close())
		})
	}
}

// A response that was written before the server exited counts.
func TestAnswerAndExit(t *testing.T) {
	c, err := oneProbe.Spawn(t.Context(), fake("answer and exit"))
	assert.NilError(t, err)
	_, err = c.CallTool(t.Context(), "t", nil)
	assert.NilError(t, err)
	assert.Error(t, c.Wait(), `exited with status 0: "bye"`)
}

func TestLargeResult(t *testing.T) {
	c, err := oneProbe.Spawn(t.Context(), fake("large"))
	assert.NilError(t, err)
	r, err := c.CallTool(t.Context(), "t", nil)
	assert.NilError(t, err)
	assert.Equal(t, len(r.Content[0].(*mcp.TextContent).Text), 5<<20)
	shut(t, c)
}

// A server that exits at the end of its stdin may finish writing, and is not killed.
func TestLastWords(t *testing.T) {
	var stderr strings.Builder
	cmd := fake("last words")
	cmd.Stderr, cmd.Grace = &stderr, time.Minute
	c, err := Options{}.Spawn(t.Context(), cmd)
	assert.NilError(t, err)
	shut(t, c)
	assert.Equal(t, stderr.String(), "said it all\n")
	assert.Equal(t, c.StderrTail(), "said it all\n")
	assert.Equal(t, c.Process().Exit.Error(), `exited with status 0: "said it all"`)
	assert.Assert(t, c.Process().Exit.Stopped)
}

// Close does not wait longer than necessary for a server that ignores everything.
func TestCloseStubborn(t *testing.T) {
	c, err := Options{}.Spawn(t.Context(), fake("stubborn after the handshake"))
	assert.NilError(t, err)
	began := time.Now()
	shut(t, c)
	took := time.Since(began)
	assert.Check(t, 600*time.Millisecond <= took && took < 30*time.Second, "took %v", took)
	gone(t, c.Process().Pid)
}

// Close cancels the questions of a legacy server at once, even if the server takes long to end.
func TestCloseEndsQuestions(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	o := Options{OnElicit: func(ctx context.Context, _ mcp.ElicitParams) (*mcp.ElicitResult,
		error) {
		close(asked)
		<-ctx.Done()
		close(left)
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}}
	server := fake("stubborn asker")
	server.Grace = time.Hour
	c, err := o.Spawn(t.Context(), server)
	assert.NilError(t, err)
	<-asked
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("the question is still open")
	}
	assert.NilError(t, syscall.Kill(c.Process().Pid, syscall.SIGKILL))
	assert.NilError(t, <-closed)
	_ = c.Wait()
}
