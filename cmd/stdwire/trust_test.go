package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// withServers creates a project whose mcp.json has these servers; SELF is this program.
func withServers(t *testing.T, servers string) (dir string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	inJSON, err := json.Marshal(self)
	assert.NilError(t, err)
	servers = strings.ReplaceAll(servers, `"SELF"`, string(inJSON))
	return commandtest.Project(t, map[string]string{"mcp.json": `{"servers": ` + servers + `}`})
}

// typing runs a command at a terminal and types answer.
func typing(t *testing.T, answer string, args ...string) ran {
	t.Helper()
	c := termtest.Capture(true)
	c.In = strings.NewReader(answer)
	return runWith(t.Context(), c, args...)
}

func TestTrust(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := withServers(t,
		`{"good": {"command": "SELF", "args": ["fixture:good"]}, "other": {"command": "sh", "args": ["-c", "curl \u001b[2K evil\u202e", ""], "env": {"LD_PRELOAD": "./x.so", "T": "${T}"}, "cwd": "sub dir", "envFile": ".env", "inheritEnv": true}, "web": {"url": "http://x", "headers": {"A": "b c"}, "oauth": {"clientId": "me", "clientSecret": "${S}", "issuer": "https://as.example", "scope": "a b", "grantType": "client_credentials", "allowPrivate": true}}}`)
	got := run(t, "tools", "-s", "good")
	assert.Equal(t, got,
		ran{7, "", "stdwire: tools: " + filepath.Join(dir, "mcp.json") +
			":1:14: server \"good\" is not trusted\nhint: review its definition, and trust it: stdwire trust good\n"})
	assert.Assert(t,
		cmp.Contains(run(t, "tools", "-s", "good", "-o", "json").stderr, `"code":"untrusted"`))

	// Everything is shown; without a terminal nothing is trusted.
	got = run(t, "trust", "other")
	assert.Equal(t, got.code, 7)
	assert.Equal(t, got.stderr[strings.Index(got.stderr, "\n")+1:],
		`  command    sh -c "curl \x1b[2K evil\u202e" ""
  in         `+target.QuoteWord(dir)+`
  cwd        "sub dir"
  env        LD_PRELOAD=./x.so
  env        T=${T}
  envFile    .env
  inheritEnv *
stdwire: other: trust: there is no terminal to ask at
hint: to trust the definition above without a question: --yes
`)
	assert.Assert(t,
		cmp.Contains(run(t, "trust", "web").stderr,
			"  url        http://x\n  header     A: \"b c\"\n  oauth      clientId: me\n  oauth      clientSecret: ${S}\n  oauth      issuer: https://as.example\n  oauth      scope: \"a b\"\n  oauth      grantType: client_credentials\n  oauth      allowPrivate: true\n"))

	// All that wait are shown at once.
	got = run(t, "trust")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, strings.HasPrefix(got.stderr, "3 definitions to review: good, other, web\n"))
	for _, want := range []string{"fixture:good\n", "  cwd        \"sub dir\"\n",
		"  url        http://x\n"} {
		assert.Assert(t, cmp.Contains(got.stderr, want))
	}
	assert.Assert(t, strings.HasSuffix(got.stderr, "stdwire: trust: there is no terminal to ask at\n"+
		"hint: to trust the definitions above without a question: --yes\n"), got.stderr)

	for _, answer := range []string{"", "n\n", "\n", "y", "yy\n"} {
		got = typing(t, answer, "trust", "good")
		assert.Equal(t, got.code, 7, answer)
		assert.Assert(t, strings.HasSuffix(got.stderr, "stdwire: trust: 1 server not trusted\n"),
			got.stderr)
		assert.Equal(t, run(t, "tools", "-s", "good").code, 7)
	}
	got = typing(t, "y\n", "trust", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "Trust good? [y/N] "))
	got = run(t, "tools", "-s", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "echo(text: string"))
	assert.Equal(t, run(t, "trust", "good").stderr, "good is trusted already\n")

	// A file with one trusted server; then a project without any.
	got = run(t, "trust", "mcp.json", "--yes")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, strings.Count(run(t, "config", "check").stdout, "untrusted"), 0)
	assert.Equal(t, run(t, "trust", "--revoke"), ran{0, "", "3 servers no longer trusted\n"})
	assert.Equal(t, run(t, "tools", "-s", "good").code, 7)

	// A changed server is not trusted.
	assert.Equal(t, run(t, "trust", "--yes", "good").code, 0)
	content, err := os.ReadFile("mcp.json")
	assert.NilError(t, err)
	assert.NilError(t,
		os.WriteFile("mcp.json",
			[]byte(strings.ReplaceAll(string(content), `"fixture:good"`, `"fixture:good","x"`)),
			0o600))
	got = run(t, "tools", "-s", "good")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, cmp.Contains(got.stderr, "has changed since it was trusted"))

	got = run(t, "trust", "goood")
	assert.Equal(t, got,
		ran{2, "", "stdwire: trust: goood is neither a server of a project file nor a project file in use\nhint: did you mean good?\n"})
	assert.NilError(t, os.WriteFile("mcp.json", []byte("{"), 0o600))
	assert.Equal(t, run(t, "trust").code, 8)
	assert.Equal(t, run(t, "tools", "-s", "good").code, 8)

	// Files that the user names are trusted.
	assert.NilError(t, os.WriteFile("mcp.json", content, 0o600))
	assert.Equal(t, run(t, "tools", "-s", "good", "--config", "mcp.json").code, 0)
	t.Setenv("STDWIRE_CONFIG", filepath.Join(dir, "mcp.json"))
	assert.Equal(t, run(t, "tools", "-s", "good").code, 0)
	assert.Equal(t, run(t, "trust", "good").stderr,
		"stdwire: trust: good is from your own file "+filepath.Join(dir, "mcp.json")+
			", which needs no trust\nhint: see stdwire trust --help\n")
}

func TestTrustOfBrokenServers(t *testing.T) {
	withServers(t, `{"bad": {}, "good": {"command": "x"}, "long": {"command": "x", "args": ["`+
		strings.Repeat("long ", 1000)+`"]}}`)
	got := run(t, "trust", "--yes")
	assert.Equal(t, got.code, 7)
	assert.Assert(t,
		cmp.Contains(got.stderr, "server \"bad\": it has neither a command nor a URL\n"))
	assert.Assert(t, cmp.Contains(got.stderr, "good is trusted\n"))
	assert.Assert(t, cmp.Contains(got.stderr, strings.Repeat("long ", 1000)+"\"\n"), "uncut")
	assert.Assert(t, cmp.Contains(got.stderr, " characters: read all of them.\n"))
	store := filepath.Join(os.Getenv("HOME"), ".local/state/stdwire/trust.json")
	if !atomicfile.Permissions {
		return // nothing says that others can write to it
	}
	assert.NilError(t, os.Chmod(store, 0o622))
	for _, args := range []string{"trust good", "tools -s good", "config check"} {
		got = run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 8, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "is writable by other users"))
	}
}

func TestSelectedServer(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	withServers(t, `{
		"good": {"command": "SELF", "args": ["fixture:good"], "tools": {"allow": ["e*", "fail", "hang"], "deny": ["fail"]}, "unknown": 1},
		"hasty": {"command": "SELF", "args": ["fixture:good"], "callTimeoutMs": 500},
		"patient": {"command": "SELF", "args": ["fixture:good"], "callTimeoutMs": 0},
		"silent": {"command": "SELF", "args": ["fixture:silent"], "startTimeoutMs": 50},
		"off": {"command": "SELF", "disabled": true},
		"unset": {"command": "${NOT_SET_ANYWHERE}"},
		"own": {"command": "SELF", "args": ["serve", "--root", "${input:root}"], "era": "legacy"}
	}`)
	assert.Equal(t, run(t, "trust", "--yes").code, 0)

	got := run(t, "call", "echo", "text=hi", "-s", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{"text":"hi"}`+"\n")
	assert.Assert(t,
		cmp.Contains(got.stderr, `server "good": unknown field "unknown"; it does nothing here`))

	// A tool that the filter excludes is neither listed nor called.
	for _, args := range []string{"tools -s good", "ls -s good", "ls tools -s good"} {
		got = run(t, strings.Fields(args)...)
		assert.Assert(t, cmp.Contains(got.stdout, "echo(text: string, [n: integer])"), got.stderr)
		assert.Assert(t, cmp.Contains(got.stdout, "hang()"))
		assert.Assert(t, !strings.Contains(got.stdout, "fail") &&
			!strings.Contains(got.stdout, "die"), got.stdout)
	}
	got = run(t, "tools", "-s", "good", "-o", "json")
	var tools []struct{ Name string }
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &tools))
	assert.Equal(t, fmt.Sprint(tools), "[{echo} {hang}]")
	assert.Assert(t, cmp.Contains(got.stdout, `"x-unknown": [ 1.0 ]`), "byte by byte")
	got = run(t, "tools", "-s", "good", "-o", "raw")
	assert.Equal(t, strings.Count(got.stdout, "\n"), 2)
	assert.Assert(t, cmp.Contains(got.stdout, `"nextCursor":"2"}`))
	assert.Assert(t, strings.HasSuffix(got.stdout, "\n{\"tools\":[]}\n"), got.stdout)
	for _, args := range []string{"call fail -s good", "call die -s good", "inspect die -s good"} {
		got = run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 7, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "does not let it pass"))
	}
	assert.Equal(t, run(t, "inspect", "echo", "-s", "good").code, 0)

	// Timeouts and the era are those of the configuration, unless flags are given.
	got = run(t, "call", "hang", "-s", "hasty")
	assert.Equal(t, got.code, 6, got.stderr)
	got = run(t, "call", "hang", "-s", "patient", "--timeout", "500ms")
	assert.Equal(t, got.code, 6, got.stderr)
	got = run(t, "tools", "-s", "silent")
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "stdwire: silent: start: "))
	for flag, era := range map[string]string{"auto": "modern", "modern": "modern",
		"legacy": "legacy", "": "legacy"} {
		args := []string{"inspect", "-o", "json", "-s", "own", "--input", "root=."}
		if flag != "" {
			args = append(args, "--era", flag)
		}
		got = run(t, args...)
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stdout, `"era":"`+era+`"`), flag)
	}

	got = run(t, "tools", "-s", "off")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, cmp.Contains(got.stderr, "it is disabled at "))
	got = run(t, "tools", "-s", "unset")
	assert.Equal(t, got.code, 8)
	assert.Assert(t,
		cmp.Contains(got.stderr, `server "unset": command: ${NOT_SET_ANYWHERE} is not set`))

	assert.Equal(t, (&target.Target{Configured: target.ConfiguredServer{ID: "npx"}}).LaunchedName(),
		"npx")

	// An input from a flag, a file, the environment, or the terminal.
	got = run(t, "tools", "-s", "own")
	assert.Equal(t, got.code, 8)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			"${input:root} has no value: give --input root=… or set STDWIRE_INPUT_ROOT"))
	assert.NilError(t, os.WriteFile("root.txt", []byte(".\n"), 0o600))
	assert.Equal(t, run(t, "tools", "-s", "own", "--input", "root=@root.txt").code, 0)
	got = typing(t, ".\n", "tools", "-s", "own")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "own wants root: "))
	t.Setenv("STDWIRE_INPUT_ROOT", ".")
	assert.Equal(t, run(t, "tools", "-s", "own").code, 0)
}

func TestSelectedServerAtAURL(t *testing.T) {
	s := echoServer(t, "letmein")
	commandtest.Project(t, nil)
	t.Setenv("ECHO_TOKEN", "letmein")
	text := `{"mcpServers": {"echo": {"url": "` + s.URL +
		`", "headers": {"Authorization": "Bearer ${ECHO_TOKEN}"}}, "stranger": {"url": "` + s.URL +
		`"},
		"asks": {"url": "` + s.URL + `", "headers": {"Authorization": "${input:pw}"}}}, "inputs": [{"id": "pw", "password": true}]}`
	assert.NilError(t, os.WriteFile("x.json", []byte(text), 0o600))
	got := run(t, "call", "echo", "text=hello", "-s", "echo", "--config", "x.json")
	assert.Equal(t, got, ran{0, "hello\n", ""})
	got = run(t, "tools", "-s", "stranger", "--config", "x.json")
	assert.Equal(t, got.code, 3, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: stranger: start: "), got.stderr)
	got = run(t, "tools", "-s", "echo", "--config", "x.json", "--server-logs")
	assert.Equal(t, got.code, 2, got.stderr)
	got = typing(t, "secret\n", "tools", "-s", "asks", "--config", "x.json")
	assert.Equal(t, got.code, 8, "passwords are not shown while they are typed")
	assert.Assert(t,
		cmp.Contains(joinLines(got.stderr),
			"it would be visible while typed: give it with --input pw=@FILE"))
}

// The filter and the timeouts apply in the shell, too.
func TestSelectedServerInTheShell(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	withServers(t, `{"good": {"command": "SELF", "args": ["fixture:good"], "tools": {"deny": ["fail"]}, "callTimeoutMs": 1500}}`)
	shell := func(script string, args ...string) ran {
		c := termtest.Capture(false)
		c.In = strings.NewReader(script)
		return runWith(t.Context(), c, append([]string{"shell", "-s", "good"}, args...)...)
	}
	assert.Equal(t, shell("echo text=a").code, 7, "untrusted")
	assert.Equal(t, run(t, "trust", "--yes").code, 0)
	got := shell("echo text=a\n.timeout\n.tools")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "{\"text\":\"a\"}\n1.5s\n"), got.stdout)
	assert.Assert(t, cmp.Contains(got.stdout, "refuse()"))
	assert.Assert(t, !strings.Contains(got.stdout, "fail"), got.stdout)
	for _, script := range []string{"fail", ".tools fail", ".help fail"} {
		got = shell(script)
		assert.Equal(t, got.code, 7, script)
		assert.Assert(t, cmp.Contains(got.stderr, "does not let it pass"))
	}
	assert.Equal(t, shell("hang").code, 6)
	assert.Assert(t, strings.HasPrefix(shell(".timeout", "--timeout", "0").stdout, "for ever"))
}

// The user trusts the whole definition, so all of it is shown.
func TestTrustShowsTheWholeEffect(t *testing.T) {
	dir := commandtest.Project(t, map[string]string{"mcp.json": `{"servers": {"s": {
		"command": "x", "args": ["${input:key}"], "era": "legacy", "callTimeoutMs": 1000, "startTimeoutMs": 0, "idleStop": "5m", "perSession": true, "maxResult": 9, "disabled": true,
		"tools": {"allow": ["a*"], "deny": ["ab"]}}}, "inputs": [{"id": "key", "description": "your password\u202e", "password": true}]}`})
	own := filepath.Join(os.Getenv("HOME"), ".config", "stdwire", "mcp.json")
	assert.NilError(t, os.MkdirAll(filepath.Dir(own), 0o700))
	assert.NilError(t, os.WriteFile(own, []byte(`{"servers": {"s": {"command": "mine"}}}`), 0o600))
	got := run(t, "trust", "s")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, cmp.Contains(got.stderr, `
  command    x ${input:key}
  in         `+target.QuoteWord(dir)+`
  era        legacy
  startTimeoutMs 0
  callTimeoutMs 1000
  idleStop   5m
  perSession true
  maxResult  9
  disabled   true
  tools      "{\"allow\":[\"a*\"],\"deny\":[\"ab\"]}"
  input      key: "your password\u202e" (a password)
  in place of `+target.QuoteWord(own+":1:14")+`
`))
}
