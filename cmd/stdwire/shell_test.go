package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/rpc"
)

// scripted runs a shell on a fixture, with a script on stdin.
func scripted(t *testing.T, flags, script, name string, more ...string) ran {
	t.Helper()
	c := termtest.Capture(false)
	c.In = strings.NewReader(script)
	return runWith(t.Context(), c, words("shell "+flags, fixture(name, more...)...)...)
}

func TestShellScript(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ script, stdout string }{
		{"", ""},
		{"\n  # nothing\n\r\n", ""},
		{"echo text='a b' n=5", `{"text":"a b","n":5}` + "\n"},
		{"echo {\"text\":\"it's # one\"} n=5 # comment\r\necho text=012\n",
			`{"text":"it's # one","n":5}` + "\n" + `{"text":"012"}` + "\n"},
		{"'echo' {\"text\": \"a\"}\n.quit\necho text=never", `{"text":"a"}` + "\n"},
		{".output\n.output json\necho text=a\n.output", "text\n" +
			`{"content":[{"type":"text","text":"{\"text\":\"a\"}"}],"x-unknown": 1.0}` +
			"\njson\n"},
		{".timeout\n.timeout 90s\n.timeout\n.timeout 0\n.timeout", "5m\n1m30s\nfor ever\n"},
		{"echo {\n \"text\": \"a]}\",\n\"n\": 5\n}\necho text='b\nc'",
			`{"text":"a]}","n":5}` + "\n" + `{"text":"b\nc"}` + "\n"},
		{".trace\n.trace on\n.trace", "off\non\n"},
		{".reload", "tools 8\n"},
		{".help .read", ".read URI\n    read a resource\n"},
		{".help echo", "echo(text: string, [n: integer])\n\nSays it again.\n\nAt length.\n"},
		{".history\n.restart\necho text=again", `{"text":"again"}` + "\n"},
	} {
		got := scripted(t, "", tt.script, "good")
		assert.Equal(t, got, ran{0, tt.stdout, got.stderr}, tt.script)
		assert.Assert(t, got.stderr == "" || strings.Contains(tt.script, ".trace"), got.stderr)
	}
	got := scripted(t, "", ".tools\n.tools echo\n.info\n.help", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	for _, want := range []string{"echo(text: string, [n: integer])\n    Says it again.\n",
		"\nparameter  type ", "protocol      2025-11-25, legacy era", "\n.read URI\n"} {
		assert.Assert(t, cmp.Contains(got.stdout, want))
	}
	got = scripted(t, "-o json", ".info", "good")
	assert.Assert(t, strings.HasPrefix(got.stdout, `{"name":"fake","version":"1.2",`), got.stdout)
}

func TestShellScriptEndsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script, fixture string
		code            int
		stderr          string
	}{
		{"fail", "good", 5, self + ": line 1: fail: disk full\n"},
		{"echo text=a\n\nrefuse", "good", 5, self +
			": line 3: refuse: not with these (code -32602)\n"},
		{"ecko", "good", 5, self +
			": line 1: ecko: there is no such tool; there are echo, hang, die, fail, refuse, big, slow, strange\nhint: did you mean echo?\n"},
		{"echo n=x", "good", 2, self +
			": line 1: echo: n must be an integer, not \"x\"; missing required property \"text\"\nhint: echo(text: string, [n: integer])\n"},
		{".complete prompt greet", "rich", 2, "line 1: .complete: an argument is missing\n"},
		{".complete tool greet name", "rich", 2,
			"line 1: .complete: \"tool\" is neither prompt nor resource\n"},
		{".complete prompt greet nme", "rich", 2, self +
			": line 1: greet: there is no argument \"nme\"\n"},
		{".log loud", "rich", 2, "line 1: .log: \"loud\" is not one of debug, info, "},
		{".log info", "good", 5, ""},
		{".subscribe file:///c", "rich", 5, self + ": line 1: "},
		{".unsubscribe file:///c", "rich", 2,
			"line 1: .unsubscribe: file:///c is not subscribed\nhint: .subscribe lists the subscriptions\n"},
		{"foo bar", "good", 5, self +
			": line 1: foo: there is no such tool; there are echo, hang, die, fail, refuse, big, slow, strange\n"},
		{"ecko bar", "good", 5, self +
			": line 1: ecko: there is no such tool; there are echo, hang, die, fail, refuse, big, slow, strange\nhint: did you mean echo?\n"},
		{"echo {\n\"text\": 7}\necho", "good", 2, self + ": line 1: echo: "},
		{"echo word", "good", 2, self +
			": line 1: echo: unexpected argument \"word\": an argument of the tool is name=value or name:=JSON\n"},
		{"die", "good", 6, self + ": line 1: die: exited with status 7: \"out of memory\"\n"},
		{".timeout 300ms\nhang", "good", 6, ""},
		{".tols", "good", 2,
			"line 1: .tols: there is no such command\nhint: did you mean .tools?\n"},
		{".read", "good", 2, "line 1: .read: an argument is missing\nhint: write .read URI\n"},
		{".info x", "good", 2, "line 1: .info: unexpected argument \"x\"\nhint: write .info\n"},
		{".tools {}", "good", 2,
			"line 1: .tools: it takes no JSON object\nhint: write .tools [NAME]\n"},
		{".trace maybe", "good", 2, "line 1: .trace: \"maybe\" is neither on nor off\n"},
		{".output jsn", "good", 2,
			"line 1: .output: \"jsn\" is not one of text, json, raw\nhint: did you mean json?\n"},
		{".timeout soon", "good", 2,
			"line 1: .timeout: \"soon\" is not a duration\nhint: write 500ms, 30s, 5m or 1h\n"},
		{"echo 'a", "good", 2, "line 1: the quote ' is never closed\n"},
		{`echo a\`, "good", 2, // continues in the next line
			self + ": line 1: echo: unexpected argument \"aecho\": "},
		{`echo {"a"`, "good", 2, "line 1: the arguments: "},
		{`echo {"a":1}x`, "good", 2, "line 1: the arguments: \"x\" follows the object\n"},
		{".resources", "good", 5, self + ": line 1: .resources: the server has no resources\n"},
		{".read a:b", "good", 5, self + ": line 1: .read: the server has no resources\n"},
		{".prompts", "good", 5, self + ": line 1: .prompts: the server has no prompts\n"},
		{".prompt x", "good", 5, self + ": line 1: .prompt: the server has no prompts\n"},
		{".read file:///c", "rich", 5, self +
			": line 1: file:///c: no such resource (code -32002)\n"},
		{".prompt gret", "rich", 5, self +
			": line 1: gret: there is no such prompt; there are greet\nhint: did you mean greet?\n"},
		{".prompt greet", "rich", 2, self +
			": line 1: greet: missing arguments: name\nhint: greet(name, [city])\n"},
		{".prompt greet name=a nam=b", "rich", 2, self +
			": line 1: greet: there is no argument \"nam\"\nhint: did you mean name?\n"},
		{".prompt greet name:=1", "rich", 2,
			"line 1: .prompt: argument \"name\": the arguments here are text, not JSON\nhint: write name=…\n"},
		{".prompt greet name=a name=b", "rich", 2,
			"line 1: .prompt: argument \"name\" is given twice\n"},
		{strings.Repeat("x", lineedit.MaxLine+1), "good", 7,
			"line 1: a line has more than 1048576 bytes\n"},
		{"echo", "crash", 4, ""},
	} {
		got := scripted(t, "", tt.script+"\necho text=never\n", tt.fixture)
		assert.Equal(t, got.code, tt.code, "%.80s: %s", tt.script, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: "+tt.stderr) ||
			tt.stderr == "", "%s\n%s", got.stderr, tt.stderr)
		assert.Assert(t, !strings.Contains(got.stdout, "never"))
		if tt.code == 6 && tt.stderr == "" {
			assert.Equal(t, lastLine(got.stderr), "hint: it may need longer: .timeout 30m")
		}
	}
	got := scripted(t, "-o json", "fail", "good")
	assert.Assert(t,
		strings.HasPrefix(got.stderr, `{"error":{"code":"tool_is_error","message":"`+self+
			`: line 1: fail: disk full",`), got.stderr)
}

func TestShellResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		".resources":                             "file:///a b (text/plain, 1.5 kB)\n    Both.\n\nfile:///c\n    c\nlog://{day}\n    log\n",
		".read 'file:///a b'":                    "==> file:///a b <==\nwhat it says\n==> file:///a b/blob <==\n[resource file:///a b/blob x/y 3 B → --save DIR]\n",
		".prompts":                               "greet(name, [city])\n    A greeting\n",
		".prompt greet name=Ada city='New York'": "user:\n{\"city\":\"New York\",\"name\":\"Ada\"}\n",
		".output json\n.read file:///a\\ b": `{"contents":[{"uri":"file:///a b","text":"what it says"},{"uri":"file:///a b/blob","mimeType":"x/y","blob":"AAAA"}]}` +
			"\n",
		".output json\n.prompts": `[{"name":"greet","title":"A greeting","arguments":[{"name":"name","required":true},{"name":"city"}]}]` +
			"\n",
		".output json\n.resources": `[{"uri":"file:///a b","name":"ab","mimeType":"text/plain","size":1500,"description":"Both."},{"uri":"file:///c","name":"c"}]` +
			"\n" +
			`[{"uriTemplate":"log://{day}","name":"log"}]` + "\n",
		".reload": "tools 5, resources 2, prompts 1\n",
		".complete prompt greet name\n.complete prompt greet city New name=Ada": "Ada\nNew York\nNewark\n",
		".complete resource log://{day} day":                                    "monday\n",
		".log\n.log debug\n.log\n.log off\n.log off\n.log":                      "off\ndebug\noff\n",
		".subscribe": "",
	} {
		assert.Equal(t, scripted(t, "", script, "rich"), ran{0, want, ""}, script)
	}
}

// A new tool is found with or without list_changed.
func TestShellFindsNewTools(t *testing.T) {
	got := scripted(t, "", "paint bold=true\ngrow\ngrown {}\n", "rich")
	assert.Equal(t, got, ran{0, `{"bold":true}` + "\ndone\n{}\n", ""})
}

func TestShellTrace(t *testing.T) {
	got := scripted(t, "--trace", "echo text=hi\n.trace off\necho text=quiet\n", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, ` → {"jsonrpc":"2.0",`))
	assert.Assert(t, cmp.Contains(got.stderr, `"method":"initialize"`))
	assert.Assert(t, cmp.Contains(got.stderr, `"arguments":{"text":"hi"}`))
	assert.Assert(t, cmp.Contains(got.stderr, ` ← {"jsonrpc":"2.0",`))
	assert.Assert(t, !strings.Contains(got.stderr, "quiet"))

	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	assert.Equal(t, shell.FormatFrame(at, rpc.Outbound, []byte(`{"a":"`+"\u202e"+`字字字字字"}`)),
		`03:04:05.006 → {"a":"\u202e字字字字字"}`)
	long := shell.FormatFrame(at, rpc.Inbound, []byte(strings.Repeat("x", shell.MaxFrame+1500)))
	assert.Assert(t, strings.HasSuffix(long, "x… (1.5 kB more)"))

	c := termtest.Capture(false)
	tr := &shell.Tracer{On: true, Shell: &shell.Shell{Std: c.Streams},
		Ready: make(chan struct{}, 1)}
	for range shell.MaxTraceLines + 3 {
		tr.Frame(t.Context(), rpc.Inbound, []byte("{}"))
	}
	tr.Drain()
	assert.Equal(t, strings.Count(c.Stderr.String(), "\n"), shell.MaxTraceLines+1)
	assert.Equal(t, lastLine(c.Stderr.String()), "note: 3 more messages are not shown")
}

func TestShellScriptIsInterrupted(t *testing.T) {
	notes := newNotes(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		notes.Line(t) // it works
		cancel(command.SignalError{Signal: syscall.SIGINT})
	}()
	c := termtest.Capture(false)
	c.In = strings.NewReader("hang\npaint\n")
	got := runWith(ctx, c, words("shell", fixture("rich", notes.path)...)...)
	assert.Equal(t, got, ran{130, "", "stdwire: " + self + ": line 1: hang: interrupted\n"})
	assert.Equal(t, notes.all(t), "cancelled\n")
}
