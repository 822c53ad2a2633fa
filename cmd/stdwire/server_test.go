package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

func words(args string, more ...string) []string { return append(strings.Fields(args), more...) }

// against runs a command on a fixture.
func against(t *testing.T, args string, name string, more ...string) ran {
	t.Helper()
	return run(t, words(args, fixture(name, more...)...)...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

var self = filepath.Base(os.Args[0]) // the name of the fixtures

// joinLines returns a message without the line breaks that fit it to the width of a terminal.
func joinLines(message string) string { return strings.ReplaceAll(message, "\n  ", " ") }

func TestBuiltInServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\nthere"), 0o600))
	root := "--root=" + dir

	got := run(t, "call", "fs_read", "path=a.txt", root)
	assert.Equal(t, got, ran{0, "hello\nthere", ""})

	got = run(t, "call", "fs_read", "path=a.txt", "lines=1", root)
	assert.Equal(t, got.stdout, "hello\n")
	assert.Equal(t, got.stderr, "note: there is more than this: next_line 2, next_offset 6\n")

	got = run(t, "call", "fs_list", root)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "a.txt"))

	got = run(t, "call", "fs_read", "path=missing", root)
	assert.Equal(t, got.code, 5)
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: built-in: fs_read: not_found: "),
		got.stderr)
	assert.Equal(t, got.stdout, "")

	got = run(t, "call", "fs_write", "path=b.txt", "content=x", root)
	assert.Equal(t, got.code, 7, "not without --write")
	got = run(t, "call", "fs_write", "path=b.txt", "content=012", root, "--write")
	assert.Equal(t, got.code, 0, got.stderr)
	written, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	assert.NilError(t, err)
	assert.Equal(t, string(written), "012")

	got = run(t, "tools", root)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "fs_read(path: string, "))
	assert.Assert(t, !strings.Contains(got.stdout, "fs_write("))
	assert.Assert(t, cmp.Contains(run(t, "tools", "--write").stdout, "fs_write("))

	for _, era := range []string{"legacy", "modern"} {
		got = run(t, "inspect", "-o", "json", "--era", era)
		assert.Equal(t, got.code, 0, got.stderr)
		var r struct{ Name, Era string }
		assert.NilError(t, json.Unmarshal([]byte(got.stdout), &r))
		assert.Equal(t, r.Name, "stdwire")
		assert.Equal(t, r.Era, era)
	}

	got = run(t, "tools", "--root", filepath.Join(dir, "missing"))
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "exited with status 2 before answering"))
}

func TestTools(t *testing.T) {
	got := against(t, "tools", "good")
	assert.Equal(t, got, ran{0, `echo(text: string, [n: integer])
    Says it again.

hang()

die()

fail()

refuse()

big()

slow([ms: integer])

strange()
`, ""})

	flat := strings.NewReplacer("\n", "", "\t", "").Replace
	got = against(t, "tools -o json", "good")
	page1, page2 := flat(fakePage1), flat(fakePage2)
	assert.Equal(t, got.stdout, strings.TrimSuffix(page1, " ]")+","+page2[1:]+"\n", "byte by byte")

	got = against(t, "tools -o raw", "good")
	assert.Equal(t, got.stdout, `{"tools":`+page1+`,"nextCursor":"2"}`+"\n"+`{"tools":`+page2+"}\n")

	got = against(t, "tools", "toolless")
	assert.Equal(t, got.code, 5)
	assert.Equal(t, got.stderr, "stdwire: "+self+": tools/list: the server has no tools\n")
}

func TestCall(t *testing.T) {
	t.Parallel()
	got := against(t, "call echo text=012 n=5", "good")
	assert.Equal(t, got, ran{0, `{"text":"012","n":5}` + "\n", ""})

	got = against(t, `call echo -o json -d {"n":1,"text":"a"} n=2`, "good")
	assert.Equal(t, got.stdout,
		`{"content":[{"type":"text","text":"{\"n\":2,\"text\":\"a\"}"}],"x-unknown": 1.0}`+"\n")

	c := termtest.Capture(false)
	c.In = strings.NewReader(`{"text":"from stdin"}`)
	got = runWith(t.Context(), c, words("call echo -d -", fixture("good")...)...)
	assert.Equal(t, got.stdout, `{"text":"from stdin"}`+"\n")

	got = against(t, "call big", "good")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, len(got.stdout), 5<<20)

	got = against(t, "call strange x=1", "good")
	assert.Equal(t, got.stdout, "called\n")
	assert.Assert(t,
		strings.HasPrefix(got.stderr,
			"note: the arguments of strange are not checked: its schema is invalid: "),
		got.stderr)
}

func TestCallFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, fixture string
		code          int
		stderr        string
	}{
		{"call fail", "good", 5, "stdwire: " + self + ": fail: disk full\n"},
		{"call refuse", "good", 5, "stdwire: " + self + ": refuse: not with these (code -32602)\n"},
		{"call ecko text=a", "good", 5, "stdwire: " + self +
			": ecko: there is no such tool; there are echo, hang, die, fail, refuse, big, slow, strange\nhint: did you mean echo?\n"},
		{"call x", "toolless", 5, "stdwire: " + self + ": tools/list: the server has no tools\n"},
		{"call echo n=x", "good", 2, "stdwire: " + self +
			`: echo: n must be an integer, not "x"; missing required property "text"` +
			"\nhint: echo(text: string, [n: integer])\n"},
		{"call die", "good", 6, "stdwire: " + self +
			`: die: exited with status 7: "out of memory"` + "\n"},
		{"tools", "crash", 4, "  | loading\n  | boom: missing API key\nstdwire: " + self +
			`: start: exited with status 3 before answering: "boom: missing API key"` + "\n"},
		{"tools", "refuse", 4, "stdwire: " + self + ": start: go away (code -32603)\n"},
	} {
		began := time.Now()
		got := against(t, tt.args, tt.fixture)
		assert.Equal(t, got.stderr, tt.stderr, tt.args)
		assert.Equal(t, got.code, tt.code)
		assert.Equal(t, got.stdout, "")
		// a server may take 30 seconds to start
		assert.Assert(t, time.Since(began) < 20*time.Second)
	}
	got := against(t, "call echo n=x --no-validate", "good")
	assert.Equal(t, got.stdout, `{"n":"x"}`+"\n")

	large := filepath.Join(t.TempDir(), "large")
	assert.NilError(t, os.WriteFile(large, []byte(strings.Repeat("x", 12<<20)), 0o600))
	got = against(t, "call echo text=@"+large, "good")
	assert.Equal(t, got.code, 7, got.stderr)
	assert.Equal(t, got.stderr, "stdwire: "+self+
		": echo: not sent: the request has 12.6 MB, and many servers do not survive more than 10.4 MB\n")
}

func TestCrashAtStartIsReportedAtOnce(t *testing.T) {
	began := time.Now()
	got := against(t, "call echo -o json", "crash")
	// a server may take 30 seconds to start
	assert.Assert(t, time.Since(began) < 20*time.Second)
	assert.Equal(t, got.code, 4)
	var e struct{ Error map[string]any }
	assert.NilError(t, json.Unmarshal([]byte(got.stderr), &e))
	assert.DeepEqual(t, e.Error, map[string]any{
		"code": "start_exit", "message": self +
			`: start: exited with status 3 before answering: "boom: missing API key"`,
		"server": self, "tool": "", "exit_code": 4.0,
		"stderr_tail": "loading\nboom: missing API key\n", "hint": "",
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	got := against(t, "tools --start-timeout 3s", "silent")
	assert.Equal(t, got.code, 4)
	assert.Assert(t,
		strings.HasPrefix(got.stderr, "stdwire: "+self+
			": start: no answer to server/discover after "), got.stderr)
	assert.Equal(t, lastLine(got.stderr),
		"hint: a first start may take longer, if something has to be downloaded: --start-timeout 5m; or this is no MCP server on stdio")

	notes := newNotes(t)
	got = against(t, "call hang --timeout 500ms", "good", notes.path)
	assert.Equal(t, got.code, 6)
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: "+self+": hang: no answer after "),
		got.stderr)
	assert.Equal(t, lastLine(got.stderr), "hint: it may need longer: --timeout 30m")
	assert.Equal(t, notes.all(t), "working\ncancelled\n", "the server was told")

	got = against(t, "call slow ms=1000 --timeout 4s", "good") // 5 s in all
	assert.Equal(t, got.code, 0, "progress is a sign of life: %s", got.stderr)
	assert.Equal(t, got.stderr, "", "and nobody looks")
	c := termtest.Capture(true)
	got = runWith(t.Context(), c, words("call slow", fixture("good")...)...)
	// a slow machine has time for a rate
	assert.Assert(t, cmp.Regexp(`slow: \[#{20}\] 100% (\S+/s )?step\r\x1b\[K$`, got.stderr))
}

func TestServersThatCannotBeStarted(t *testing.T) {
	got := run(t, "tools", "--", "no-such-program-anywhere", "x")
	assert.Equal(t, got.code, 4)
	assert.Assert(t,
		strings.HasPrefix(got.stderr,
			`stdwire: no-such-program-anywhere: start: cannot start "no-such-program-anywhere": `),
		got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "hint: install it, or give the path of the program\n"))
	assert.Assert(t, !strings.Contains(got.stderr, os.Getenv("PATH")), got.stderr)
	got = run(t, "tools", "--write", "--", "x")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "--write is for stdwire's own server"))
}

func TestNothingIsStartedForWrongArguments(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	for _, args := range []string{
		"call echo a:={bad", "call echo -d {bad", "call echo -d @/no/such/file",
		"call echo a=@/no/such/file", "call echo word", "call echo --bogus", "call", "tools word",
		"inspect a b", "call echo -o yaml", "tools --era old",
	} {
		got := against(t, args, "touch", mark)
		assert.Equal(t, got.code, 2, args)
		assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: "+strings.Fields(args)[0]+": "),
			got.stderr)
		_, err := os.Stat(mark)
		assert.Assert(t, os.IsNotExist(err), args)
	}
	assert.Equal(t, against(t, "call echo text=x", "touch", mark).code, 0)
	_, err := os.Stat(mark)
	assert.NilError(t, err)
}

func TestNoiseOnStdout(t *testing.T) {
	got := against(t, "call echo text=x", "noisy")
	assert.Equal(t, got, ran{0, `{"text":"x"}` + "\n", ""})

	got = against(t, "inspect", "noisy")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t,
		cmp.Contains(got.stdout, "lines that are no message (logs belong on stderr): "))
	assert.Assert(t, cmp.Contains(got.stdout, "  | [DEBUG] got initialize\n"))
}

func TestInspect(t *testing.T) {
	t.Setenv("HOME", "/home/secret-value")
	got := against(t, "inspect", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	for _, want := range []string{
		"server        fake 1.2\n", "protocol      2025-11-25, legacy era, by initialize\n",
		"capabilities  tools(listChanged x), logging\n", "tools         8, listed in ",
		"; their definitions have 568 B, ≈ 142 tokens\n",
		"stdout noise  none\n",
		"\nenvironment   ", "\nBe kind.\n",
	} {
		assert.Assert(t, cmp.Contains(got.stdout, want))
	}
	// The list of variables is wrapped, so that a name may end a line.
	assert.Assert(t, slices.Contains(strings.Fields(got.stdout), "HOME"), got.stdout)
	assert.Assert(t, !strings.Contains(got.stdout, "secret-value"))
	assert.Assert(t,
		cmp.Contains(against(t, "inspect", "toolless").stdout,
			"tools         none: the server does not know tools/list\n"))

	got = against(t, "inspect -o json", "good")
	var r calls.Report
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &r))
	assert.Equal(t, r.Name, "fake")
	assert.Equal(t, *r.Tools, 8)
	assert.Assert(t, r.ToolCost.Bytes > 500 && r.ToolCost.Tokens == (r.ToolCost.Bytes+3)/4)
	assert.Equal(t, r.Handshake.Method, "initialize")
	assert.Assert(t, r.Pid > 0 && r.ReadyMs > 0)
	assert.Assert(t, !strings.Contains(got.stdout, "secret-value"))

	got = against(t, "inspect echo", "good")
	assert.Assert(t, strings.HasPrefix(got.stdout, "echo\n\n"), got.stdout)
	assert.Assert(t, cmp.Contains(got.stdout, "\nparameter  type"))
	assert.Assert(t, cmp.Contains(got.stdout, "\ntext       string   required\n"))
	got = against(t, "inspect echo -o json", "good")
	first, _, _ := strings.Cut(strings.TrimPrefix(fakePage1, "["), ",\n")
	assert.Equal(t, got.stdout, first+"\n")
	got = against(t, "inspect ecko", "good")
	assert.Equal(t, got.code, 5)
}

func TestServerLogs(t *testing.T) {
	got := against(t, "call die --server-logs", "good")
	assert.Equal(t, got.stderr, "out of memory\nstdwire: "+self+
		`: die: exited with status 7: "out of memory"`+"\n")
	got = against(t, "tools --server-logs", "crash")
	assert.Assert(t, !strings.Contains(got.stderr, "  | "), "it is not shown twice: %s", got.stderr)
}

// The file is open as long as a process that holds it runs.
func TestNothingIsLeftRunning(t *testing.T) {
	t.Parallel()
	notes := newNotes(t)
	got := against(t, "call echo text=x", "parent", notes.path)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{"text":"x"}`+"\n")
	assert.Equal(t, notes.all(t), "")
}

func TestSignalsInThisProcess(t *testing.T) {
	for _, tt := range []struct {
		signal os.Signal
		code   int
		why    string
	}{{syscall.SIGINT, 130, "interrupted"}, {syscall.SIGTERM, 143, "terminated"},
		{syscall.SIGHUP, 129, "the terminal is gone"}} {
		notes := newNotes(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			notes.Line(t) // it works
			cancel(command.SignalError{Signal: tt.signal})
		}()
		got := runWith(ctx, termtest.Capture(false),
			words("call hang", fixture("good", notes.path)...)...)
		assert.Equal(t, got, ran{tt.code, "", "stdwire: " + self + ": hang: " + tt.why + "\n"})
		assert.Equal(t, notes.all(t), "cancelled\n")
	}
}

// The error quotes the reason of a server that does not start, not its advice, which comes last.
func TestStartErrorIsNoHint(t *testing.T) {
	path, err := os.Executable()
	assert.NilError(t, err)
	got := run(t, "tools", "--", path, "serve", "--rot", ".")
	assert.Equal(t, got.code, 4)
	assert.Equal(t, lastLine(got.stderr), "stdwire: "+self+
		`: start: exited with status 2 before answering: "stdwire: serve: unknown flag --rot"`)
}

// onTerminal runs a command on a fixture at a terminal where input is typed.
func onTerminal(t *testing.T, typed, args, name string, more ...string) ran {
	t.Helper()
	c := termtest.Capture(true)
	c.In = strings.NewReader(typed)
	return runWith(t.Context(), c, words(args, fixture(name, more...)...)...)
}
