package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestWithoutArguments(t *testing.T) {
	commandtest.Project(t, map[string]string{
		"mcp.json":                      `{"mcpServers": {"files": {"command": "x"}}}`,
		"../home/.gemini/settings.json": `{"mcpServers": {"files": {"command": "x"}, "b": {"command": "x"}}}`})
	c := termtest.Capture(true)
	assert.Equal(t, execute(t.Context(), nil, c.Streams), 0)
	assert.Equal(t, c.Stdout.String(), `stdwire speaks MCP: a server with file and process tools, a client and a
gateway.

1 server in mcp.json: files.
1 more server in Gemini CLI: b.
To review those of this directory before they are started: stdwire trust

usage: stdwire COMMAND [FLAG]… [-- SERVER-COMMAND…]

  ls           list the tools, resources, prompts and skills of a server
  call         call a tool of a server, and print its result
  shell        use a server interactively or by a script
  serve        run an MCP server with its own tools or those of configured
               servers
  tap          record the traffic between a client and a server
  doctor       check servers, and suggest remedies

stdwire help lists all commands and topics; stdwire help COMMAND explains one.
`, "a person wants help")

	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, "")
	}
	c = termtest.Capture(true)
	assert.Equal(t, execute(t.Context(), nil, c.Streams), 0, "without a home: %s", c.Stderr)
	assert.Assert(t, cmp.Contains(c.Stdout.String(), "gateway.\n\nusage: "))

	c = termtest.Capture(false)
	assert.Equal(t, execute(t.Context(), nil, c.Streams), 2)
	assert.Equal(t, c.Stdout.String(), "", "a host must not take it for a server")
	assert.Equal(t, c.Stderr.String(),
		"stdwire: what to do?\nhint: to serve MCP on stdin and stdout: stdwire serve; for all else: stdwire help\n")
}

func TestUsageErrors(t *testing.T) {
	t.Setenv("STDWIRE_TEST_SHORT", "fifteen bytes !")
	absolute, err := filepath.Abs("/no/such/dir")
	assert.NilError(t, err)
	_, missing := filepath.EvalSymlinks(absolute)
	for _, tt := range []struct{ args, stderr string }{
		{"tols", "stdwire: there is no command \"tols\"\nhint: did you mean tools?\n"},
		{"--verson", "stdwire: there is no command \"--verson\"\nhint: did you mean version?\n"},
		{"frobnicate", "stdwire: there is no command \"frobnicate\"\nhint: stdwire help lists them\n"},
		{"serve --rot x", "stdwire: serve: unknown flag --rot\nhint: did you mean --root?\n"},
		{"serve --htpp :80", "stdwire: serve: unknown flag --htpp\nhint: did you mean --http?\n"},
		{"serve --http 80",
			"stdwire: serve: --http: \"80\" is not an address\nhint: write 127.0.0.1:8080"},
		{"serve --http 127.0.0.1:0 --token-env NOT_SET_ANYWHERE",
			"stdwire: serve: --token-env: the environment variable NOT_SET_ANYWHERE is empty\n"},
		{"serve --http 127.0.0.1:0 --token-env STDWIRE_TEST_SHORT --bogus",
			"stdwire: serve: --token-env: the token in STDWIRE_TEST_SHORT has fewer than 16 bytes and could be guessed\nhint: create one with: openssl rand -hex 16\n"},
		{"serve --state-key-env NOT_SET_ANYWHERE",
			"stdwire: serve: --state-key-env: the environment variable NOT_SET_ANYWHERE has fewer than 32 bytes\n"},
		{"serve --http 0.0.0.0:0 --no-auth", "stdwire: serve: --no-auth: "},
		{"serve --oauth-issuer https://a.example",
			"stdwire: serve: --oauth-issuer is for clients over HTTP\nhint: add --http ADDR\n"},
		{"serve --http-sse",
			"stdwire: serve: --http-sse is for clients over HTTP\nhint: add --http ADDR\n"},
		{"serve --no-auth",
			"stdwire: serve: --no-auth is for clients over HTTP\nhint: add --http ADDR\n"},
		{"serve --pins off", "stdwire: serve: no servers are selected\n"},
		{"serve --http 127.0.0.1:0 --oauth-scope x",
			"stdwire: serve: --oauth-scope: --oauth-issuer is missing\n"},
		{"serve --http 127.0.0.1:0 --oauth-audience https://b.example",
			"stdwire: serve: --oauth-audience: --oauth-issuer is missing\n"},
		{"serve --http 127.0.0.1:0 --oauth-issuer https://a.example",
			"stdwire: serve: --oauth-issuer: --oauth-audience is missing, "},
		{"serve --http 127.0.0.1:0 --oauth-issuer http://a.example --oauth-audience https://b.example",
			"stdwire: serve: --oauth-issuer: the Issuer \"http://a.example\" is not https,"},
		{"serve --http 127.0.0.1:0 --oauth-issuer https://a.example --oauth-audience b.example",
			"stdwire: serve: --oauth-audience: the Resource \"b.example\" is not an absolute URL"},
		{"serve --http 127.0.0.1:0 --oauth-issuer https://a.example --oauth-audience https://b.example --oauth-scope a\"b",
			"stdwire: serve: --oauth-scope: the scope "},
		{"serve --http 127.0.0.1:0 --no-auth --oauth-issuer https://a.example --oauth-audience https://b.example",
			"stdwire: serve: --oauth-issuer and --no-auth exclude each other\n"},
		{"serve --http 127.0.0.1:0 --token-env PATH --oauth-issuer https://a.example --oauth-audience https://b.example",
			"stdwire: serve: --oauth-issuer and --token-env exclude each other\n"},
		{"serve --confirm maybe", "stdwire: serve: --confirm: \"maybe\" is not one of ask, trust\n"},
		{"serve x", "stdwire: serve: unexpected argument \"x\"\nhint: see stdwire serve --help\n"},
		{"serve -- x", "stdwire: serve: this command takes no server command after --\nhint: see stdwire serve --help\n"},
		{"serve --root docs=",
			"stdwire: serve: --root: root \"docs=\" has no directory; want [NAME=]DIR\nhint: see stdwire serve --help\n"},
		{"manifest --root /no/such/dir", "stdwire: manifest: root \"dir\": " + missing.Error() +
			"\nhint: see stdwire manifest --help\n"},
		{"version -o xml",
			"stdwire: version: -o: \"xml\" is not one of text, json\nhint: see stdwire version --help\n"},
		{"help nothing", "stdwire: help: there is no command or topic \"nothing\"\n"},
		{"help call tools", "stdwire: help: call has no subcommand \"tools\"\n"},
		{"help exit-codes here", "stdwire: help: unexpected argument \"here\"\n"},
		{"help config chekc",
			"stdwire: config: \"chekc\" is not one of check, show, where, import, schema\nhint: did you mean check?\n"},
		{"add x", "stdwire: add: which server?\nhint: give its URL, or its command: stdwire add NAME -- COMMAND…\n"},
		{"add x npx -y y", "stdwire: add: unknown flag -y"},
		{"add x npx", "stdwire: add: unexpected argument \"npx\"\nhint: a server command follows --: stdwire add x -- npx…\n"},
		{"remove", "stdwire: remove: which server?\nhint: stdwire list lists them\n"},
		{"call", "stdwire: call: which tool?\nhint: stdwire ls tools lists them\n"},
		{"tools -s", "stdwire: tools: -s wants a value: -s ID\n"},
		{"tools npx -y x",
			"stdwire: tools: unexpected argument \"npx\"\nhint: a server command follows --: -- npx -y x\n"},
	} {
		c := termtest.Capture(false)
		assert.Equal(t, execute(t.Context(), strings.Fields(tt.args), c.Streams), 2, tt.args)
		assert.Assert(t, strings.HasPrefix(c.Stderr.String(), tt.stderr), "%s: %s", tt.args,
			c.Stderr.String())
		assert.Equal(t, c.Stdout.String(), "")
	}
	c := termtest.Capture(false)
	assert.Equal(t, execute(t.Context(), strings.Fields("tools -o json --bogus"), c.Streams), 2)
	var e struct {
		Error struct{ Code, Message string }
	}
	assert.NilError(t, json.Unmarshal(c.Stderr.Bytes(), &e))
	assert.Equal(t, e.Error.Code, "usage")
	assert.Equal(t, e.Error.Message, "tools: unknown flag --bogus")
}

// An empty argument, such as that of a shell variable that is not set, is not as good as none.
func TestEmptyArguments(t *testing.T) {
	for _, words := range []string{"inspect", "ls", "test", "web", "prompt", "read", "call", "call fs_list",
		"install", "uninstall", "uninstall cursor", "trust", "logs", "task get", "skill get",
		"skill get pdf", "completion", "tap show", "tap mock", "bundle show", "auth login", "doctor",
		"config show", "connect", "help", "add", "remove", "list", "stop", "disconnect", "add --from cursor"} {
		c := termtest.Capture(false)
		args := append(strings.Fields(words), "")
		assert.Equal(t, execute(t.Context(), args, c.Streams), 2, "%s: %s", words, c.Stderr)
		assert.Equal(t, c.Stdout.String(), "", words)
	}
}

// An empty value of a flag is not as good as no flag: serve --profile "" would offer the files of
// this machine in place of the servers of a profile.
func TestEmptyValues(t *testing.T) {
	for _, words := range []string{"serve --profile", "serve --http 127.0.0.1:0 --card",
		"serve --http 127.0.0.1:0 --oauth-issuer", "serve --http 127.0.0.1:0 --oauth-audience",
		"serve --otlp", "serve --audit", "tools -s", "read x --save", "doctor --profile",
		"config show --profile", "scan --profile", "enable --profile", "install --url",
		"config import x --into", "tap -o", "bundle create --name", "help --man"} {
		c := termtest.Capture(false)
		args := append(strings.Fields(words), "")
		assert.Equal(t, execute(t.Context(), args, c.Streams), 2, "%s: %s", words, c.Stderr)
		flag := args[len(args)-2]
		assert.Assert(t, strings.Contains(c.Stderr.String(), ": "+flag+": the "), "%s: %s", words,
			c.Stderr)
		assert.Equal(t, c.Stdout.String(), "", words)
	}
}

// Flags in place of a command, and several words after help.
func TestWaysToAsk(t *testing.T) {
	for _, tt := range []struct{ args, same string }{
		{"--version", "version"}, {"-v", "version"}, {"-v -o json", "version -o json"},
		{"-h", "help"}, {"--help", "help"}, {"-h config", "help config"},
		{"help config check", "config check --help"},
		{"help auth login", "auth login --help"},
		{"help run fs read", "run fs read --help"},
		{"help run fs", "run fs --help"},
	} {
		var texts []string
		for _, args := range []string{tt.args, tt.same} {
			std := termtest.Capture(false)
			assert.Equal(t, execute(t.Context(), strings.Fields(args), std.Streams), 0,
				"%s: %s", args, std.Stderr)
			texts = append(texts, std.Stdout.String())
		}
		assert.Equal(t, texts[0], texts[1], tt.args)
		assert.Assert(t, texts[0] != "", tt.args)
	}
}

// The help, completion and the manual have the commands by what they are used for, and no name
// twice.
func TestGroups(t *testing.T) {
	t.Parallel()
	text, names := overview(printable.NoTerminal), map[string]bool{}
	for _, g := range groups() {
		_, rest, ok := strings.Cut(text, "\n\n"+g.Title+":\n")
		assert.Assert(t, ok, g.Title)
		text = rest
		part, _, _ := strings.Cut(rest, "\n\n")
		for _, c := range g.Commands {
			assert.Check(t, strings.Contains("\n"+part, "\n  "+c.Name+" "), c.Name)
			for _, name := range append(c.Hidden.Names(), c.Name) {
				assert.Check(t, !names[name], name)
				names[name] = true
				found, err := commands().Find(name)
				assert.Check(t, err == nil && found.Name == name, name)
			}
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		assert.Assert(t, c.Summary != "", c.Name)
		assert.Assert(t, cmp.Contains(overview(printable.NoTerminal), "  "+c.Name+" "))
		var texts []string
		for _, args := range [][]string{{"help", c.Name}, {c.Name, "--help"}, {c.Name, "-h"},
			{"-h", c.Name}, {"--help", c.Name}} {
			std := termtest.Capture(false)
			assert.Equal(t, execute(t.Context(), args, std.Streams), 0, "%s: %s", args, std.Stderr)
			texts = append(texts, std.Stdout.String())
		}
		for _, text := range texts {
			page, _ := topic.Find(c.Name) // printed after the help of the command
			if page.Text != "" {
				text = strings.TrimSuffix(text, "\n"+page.Text)
			}
			assert.Equal(t, text, texts[1])
		}
		assert.Assert(t, strings.HasPrefix(texts[0], "usage: stdwire "+c.Name), texts[0])
		grammar, _ := c.Make()
		for _, f := range grammar.Flags {
			assert.Assert(t, cmp.Contains(texts[0], "  "+f.Name), c.Name)
		}
		for line := range strings.SplitSeq(texts[0], "\n") {
			assert.Assert(t, utf8.RuneCountInString(line) <= printable.Width+1 &&
				!strings.HasSuffix(line, " "), "%s: %q", c.Name, line)
		}
	}
	for line := range strings.SplitSeq(overview(printable.NoTerminal), "\n") {
		assert.Assert(t, utf8.RuneCountInString(line) <= printable.Width+1, line)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\nthere"), 0o600))
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // how they begin
	}{
		{"fs read --path a.txt", 0, "hello\nthere", ""},
		{"fs read --path a.txt --lines 1", 0, "hello\n",
			"stdwire run: fs read: there is more than this"},
		{"fs stat --path a.txt -o json", 0, `{"success":true,`, ""},
		{"fs read --path b.txt", 5, "", "stdwire run: fs read: not_found: "},
		{"fs read", 2, "", "stdwire run: fs read: missing_param: "},
		{"fs write --path b.txt --content x", 7, "",
			"stdwire run: fs write: permission_denied: it is offered with --write: "},
		{"--write fs write --path b.txt --content x", 0, "path: ", ""},
		{"--wirte fs write", 2, "",
			"stdwire: run: unknown flag --wirte\nhint: did you mean --write?\n"},
		{"fs read --help", 0, "usage: stdwire run fs read ", ""},
		{"__complete run fs w", 0, "", ""},
		{"__complete run --write fs w", 0, "write\t", ""},
		{"__complete run --root . --write fs w", 0, "write\t", ""},
		{"__complete run --root .", 0, "", ""}, // the shell completes file names
		{"__complete run --wirte fs w", 0, "", ""},
	} {
		c := termtest.Capture(false)
		got := runWith(t.Context(), c,
			append([]string{"run", "--root", dir}, strings.Fields(tt.args)...)...)
		assert.Equal(t, got.code, tt.code, "%s: %s", tt.args, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stdout, tt.stdout) &&
			(got.stdout == "") == (tt.stdout == ""), "%s: %s", tt.args, got.stdout)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr) &&
			(got.stderr == "") == (tt.stderr == ""), "%s: %s", tt.args, got.stderr)
	}
	for _, args := range []string{"run --write --help", "help run"} {
		got := runWith(t.Context(), termtest.Capture(false), strings.Fields(args)...)
		assert.Assert(t, cmp.Contains(got.stdout, "--root"))
		assert.Assert(t, cmp.Contains(got.stdout, "fs read "))
		assert.Equal(t, strings.Contains(got.stdout, "fs delete "), args != "help run")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(command.SignalError{Signal: syscall.SIGTERM})
	got := runWith(ctx, termtest.Capture(false), "run", "--root", dir, "fs", "read", "--path",
		"a.txt")
	assert.Equal(t, got.code, 143)
	assert.Equal(t, strings.Count(got.stderr, "\n"), 1)
}

// builtinOperations returns the operations that stdwire manifest lists with these flags.
func builtinOperations(t *testing.T, flags ...string) (names []string) {
	t.Helper()
	c := termtest.Capture(false)
	assert.Equal(t, execute(t.Context(), append([]string{"manifest"}, flags...), c.Streams), 0,
		c.Stderr.String())
	var m struct{ Operations []struct{ Name string } }
	assert.NilError(t, json.Unmarshal(c.Stdout.Bytes(), &m))
	for _, op := range m.Operations {
		names = append(names, op.Name)
	}
	return names
}

func TestManifest(t *testing.T) {
	var ungated, writing []string
	for _, op := range everything(t).Catalog.Operations() {
		switch op.Spec().Gate {
		case "":
			ungated, writing = append(ungated, op.Name()), append(writing, op.Name())
		case dispatch.GateWrite:
			writing = append(writing, op.Name())
		}
	}
	assert.DeepEqual(t, builtinOperations(t), ungated)
	assert.DeepEqual(t, builtinOperations(t, "--write"), writing)
	assert.Assert(t, slices.Contains(writing, "fs.write") && !slices.Contains(ungated, "fs.write"))
	assert.Assert(t, slices.Contains(ungated, "fs.read"))
}

func TestVersion(t *testing.T) {
	c := termtest.Capture(false)
	assert.Equal(t, execute(t.Context(), []string{"version"}, c.Streams), 0)
	assert.Assert(t, strings.HasPrefix(c.Stdout.String(), "stdwire "))
	assert.Assert(t,
		strings.HasSuffix(c.Stdout.String(),
			"\nMCP 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05\n"), c.Stdout)

	c = termtest.Capture(false)
	assert.Equal(t, execute(t.Context(), []string{"version", "-o", "json"}, c.Streams), 0)
	var b command.BuildInfo
	assert.NilError(t, json.Unmarshal(c.Stdout.Bytes(), &b))
	assert.Equal(t, len(b.Revisions), 5)

	c = termtest.Capture(false)
	assert.NilError(t,
		command.PrintVersion(c.Streams, "text",
			command.BuildInfo{Version: "v1.2.3", Commit: "0123456789abcdef",
				Time: "2026-01-02T03:04:05Z", Modified: true, Go: "go1.26", Platform: "a/b"}))
	assert.NilError(t, c.Out.Flush())
	assert.Assert(t,
		strings.HasPrefix(c.Stdout.String(),
			"stdwire v1.2.3 (go1.26, a/b, commit 0123456789ab 2026-01-02T03:04:05Z, modified)\n"),
		c.Stdout)
}

// brokenWriter fails with an error.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestStdoutFails(t *testing.T) {
	c := termtest.Capture(false)
	err := &os.PathError{Op: "write", Path: "stdout", Err: errors.New("the disk is full")}
	c.Out = term.NewOutput(brokenWriter{err}, term.Display{})
	assert.Equal(t, execute(t.Context(), []string{"help"}, c.Streams), 1)
	assert.Equal(t, c.Stderr.String(), "stdwire: stdout: write stdout: the disk is full\n")
}

func TestClosedPipe(t *testing.T) {
	t.Parallel()
	cmd, _, stderr := stdwire(t, words("call big", fixture("good")...)...)
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	cmd.Stdout = w
	assert.NilError(t, cmd.Start())
	assert.NilError(t, w.Close())
	_, err = bufio.NewReader(r).ReadString('\n')
	assert.NilError(t, err)
	assert.NilError(t, r.Close())
	assert.Equal(t, exitCode(cmd.Wait()), 141)
	assert.Equal(t, stderr.String(), "")
}
