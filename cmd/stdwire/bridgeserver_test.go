//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// looks are commands that show everything of the library fixture and of the modern fixture.
var looks = map[string][]string{
	"library": {"ls -o json", "call picture -o raw", "read file:///logo.png -o raw",
		"read file:///notes.md", "read file:///folder", "read file:///refused",
		"prompt greet name=a city=b -o raw",
		"complete greet city o name=Ada", "complete file:///{name} name o", "call nothing",
		"prompt nothing", "read other:thing"},
	"modern": {"ls -o json", "complete hello who A city=B"},
	"good":   {"ls -o json", "call echo text=x -o raw", "call fail", "call refuse"},
}

// described returns the description that a server gives of itself.
func described(t *testing.T, where []string) string {
	t.Helper()
	got := run(t, append([]string{"inspect", "-o", "json"}, where...)...)
	assert.Equal(t, got.code, 0, got.stderr)
	var d struct {
		Name, Version, Instructions string
		Capabilities                json.RawMessage
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &d))
	return fmt.Sprintf("%s %s: %s %s", d.Name, d.Version, d.Instructions, d.Capabilities)
}

// A stdio server looks the same over HTTP, and that again over stdio, to clients of both eras.
func TestBridgeIsTransparent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	for name, commands := range looks {
		l, _ := listen(t, append([]string{"bridge", "--no-auth"}, fixture(name)...)...)
		ways := map[string][]string{"HTTP": {"--url", l.url},
			"stdio": {"--", self, "bridge", "--url", l.url}}
		for way, where := range ways {
			for _, era := range []string{"modern", "legacy"} {
				for _, command := range commands {
					want := against(t, command, name)
					got := run(t, words(command+" --era "+era, where...)...)
					assert.Equal(t, got.code, want.code, "%s: %s %s %s: %s", name, way, era,
						command, got.stderr)
					if want.code == 0 { // except where strict clients refuse it
						whole := strings.Replace(want.stdout, `"inputSchema":{"properties":{"ms"`,
							`"inputSchema":{"type":"object","properties":{"ms"`, 1)
						for _, open := range []string{`"inputSchema":{"type":"object"`,
							`"inputSchema":{"type":"object","pattern":"(?=x)"`} {
							whole = strings.ReplaceAll(whole, open+"}", open+`,"properties":{}}`)
						}
						assert.Equal(t, unwrapped(got.stdout), unwrapped(whole), "%s: %s %s %s",
							name, way, era, command)
					}
				}
			}
		}
		want := map[string]string{
			"library": `library 1:  {"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`,
			"good":    `fake 1.2: Be kind. {"logging":{},"tools":{"listChanged":true}}`,
		}
		want["modern"] = strings.Replace(want["library"], "library", "modern", 1)
		assert.Equal(t, described(t, ways["HTTP"]), want[name])
		assert.Equal(t, described(t, ways["HTTP"]), described(t, ways["stdio"]))
		l.end(t)
	}
}

// unwrapped removes from the output what the bridge adds for the era of its client, and sorts
// lists.
func unwrapped(text string) string {
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var members []string
	for key, value := range jsonscan.Members([]byte(text)) {
		switch string(key) {
		case `"resultType"`, `"ttlMs"`, `"cacheScope"`, `"_meta"`:
			continue
		case `"tools"`, `"resources"`, `"resourceTemplates"`, `"prompts"`:
			var all []string
			for element := range jsonscan.Elements(value) {
				all = append(all, string(element))
			}
			slices.Sort(all)
			value = []byte(strings.Join(all, "\n"))
		}
		members = append(members, string(key)+": "+string(value))
	}
	return strings.Join(members, "\n")
}

// The user of the client answers questions of the server, whatever the eras of both.
func TestBridgePassesQuestions(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	answer := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept,
			Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}
	for _, fixed := range []string{"library", "modern"} {
		l, _ := listen(t, append([]string{"bridge", "--no-auth"}, fixture(fixed)...)...)
		for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
			for way, connect := range map[string]func(o client.Options) (*client.Client, error){
				"HTTP": func(o client.Options) (*client.Client,
					error) {
					return o.Connect(t.Context(), streamable.Dial(l.url))
				},
				"stdio": func(o client.Options) (*client.Client, error) {
					return o.Spawn(t.Context(),
						client.Command{Path: self, Args: []string{"bridge", "--url", l.url}})
				},
			} {
				c, err := connect(
					client.Options{Era: era, OnElicit: answer, CallTimeout: time.Minute})
				assert.NilError(t, err)
				if fixed == "library" {
					result, err := c.CallTool(t.Context(), "ask", nil)
					assert.NilError(t, err, "%s %v", way, era)
					assert.Assert(t,
						cmp.Contains(result.Content[0].(*mcp.TextContent).Text, `"name":"Ada"`))
				} else {
					result, err := c.GetPrompt(t.Context(), "hello", nil)
					assert.NilError(t, err, "%s %v", way, era)
					assert.Equal(t, result.Messages[0].Content.(*mcp.TextContent).Text, "Hello Ada")
				}
				assert.NilError(t, c.Close())
				if way == "stdio" { // where the question would wait for another
					continue
				}
				mute, err := connect(client.Options{Era: era})
				assert.NilError(t, err)
				if fixed == "modern" {
					_, err = mute.GetPrompt(t.Context(), "hello", nil)
					assert.Assert(t, err != nil)
				} else {
					// fails, or the server is refused an answer
					result, err := mute.CallTool(t.Context(), "ask", nil)
					assert.Assert(t, err != nil || result.Content[0].(*mcp.TextContent).Text == "")
				}
				assert.NilError(t, mute.Close())
			}
		}
		l.end(t)
	}
}

// A killed server is restarted; its lists stay, and calls wait.
func TestBridgeToAServerThatDies(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	starts := filepath.Join(t.TempDir(), "starts")
	assert.NilError(t, os.WriteFile(starts, nil, 0o600))
	pids := func() []string {
		text, err := os.ReadFile(starts)
		assert.NilError(t, err)
		return strings.Fields(string(text))
	}
	command := counted(t, starts, "fixture:library")
	l, _ := listen(t,
		append([]string{"bridge", "--no-auth", "--era", "legacy", "--", "sh"},
			command["args"].([]string)...)...)
	overStdio, err := client.Spawn(t.Context(), self, "bridge", "--url", l.url)
	assert.NilError(t, err)
	updates := make(chan string, 10)
	overHTTP, err := client.Options{Logger: slog.New(slog.DiscardHandler),
		OnResourceUpdated: func(uri string) {
			updates <- uri
		}}.Connect(t.Context(), streamable.Dial(l.url))
	assert.NilError(t, err)
	assert.NilError(t, overHTTP.Subscribe(t.Context(), "file:///notes.md"))
	assert.Equal(t, <-updates, "file:///notes.md", "nobody knows what had happened to it")
	for n := 1; n <= 2; n++ {
		for _, c := range []*client.Client{overStdio, overHTTP} {
			_, err := c.CallTool(t.Context(), "picture", nil)
			assert.NilError(t, err)
		}
		assert.Equal(t, len(pids()), n)
		pid, err := strconv.Atoi(pids()[n-1])
		assert.NilError(t, err)
		assert.NilError(t, syscall.Kill(pid, syscall.SIGKILL))
		assert.Equal(t, <-updates, "file:///notes.md", "nobody knows what has happened to it")
		tools := 0
		for _, err := range overHTTP.Tools(t.Context()) {
			assert.NilError(t, err)
			tools++
		}
		assert.Equal(t, tools, 6)
		_, err = overStdio.CallTool(t.Context(), "picture", nil)
		assert.NilError(t, err)
		assert.Equal(t, len(pids()), n+1)
	}
	assert.NilError(t, overStdio.Close())
	assert.NilError(t, overHTTP.Close())
	l.end(t)
	for _, pid := range pids() {
		n, _ := strconv.Atoi(pid)
		assert.Equal(t, syscall.Kill(n, 0), syscall.ESRCH, "nothing is left of it")
	}
}

// A server over HTTP is available again after it was unreachable for a while.
func TestBridgeToUnreachableURL(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	address, err := freeport.Address() // nobody else gets it while the first one is down
	assert.NilError(t, err)
	serve := func() *listener {
		l, _ := listen(t, append([]string{"bridge", "--no-auth", "--http=" + address},
			fixture("good")...)...)
		return l
	}
	first := serve()
	for _, era := range []string{"modern", "legacy"} {
		c, err := client.Spawn(t.Context(), self, "bridge", "--era", era, "--url", first.url)
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "echo", map[string]string{"text": "x"})
		assert.NilError(t, err)
		first.end(t)
		waitFor(t, func() string { // a call may notice the end of a kept connection first
			_, err = c.CallTool(t.Context(), "echo", map[string]string{"text": "x"})
			assert.Assert(t, err != nil)
			if !strings.Contains(err.Error(), "connection refused") {
				return err.Error()
			}
			return ""
		})
		first = serve()
		waitFor(t, func() string {
			if _, err := c.CallTool(t.Context(), "echo",
				map[string]string{"text": "x"}); err != nil {
				return err.Error()
			}
			return ""
		})
		assert.NilError(t, c.Close())
	}
	first.end(t)
}

// Invalid messages of either side are answered with an error, and the bridge continues.
func TestBridgeWrongInput(t *testing.T) {
	l, _ := listen(t, append([]string{"bridge", "--no-auth"}, fixture("noisy")...)...)
	for body, status := range map[string]int{"{": 400, "": 400, `{"jsonrpc":"2.0","id":1}`: 400} {
		r, err := http.Post(l.url, "application/json", strings.NewReader(body))
		assert.NilError(t, err)
		r.Body.Close()
		assert.Equal(t, r.StatusCode, status, body)
	}
	r, err := http.Get(strings.TrimSuffix(l.url, "/mcp") + "/v1/openapi.json")
	assert.NilError(t, err)
	r.Body.Close()
	assert.Equal(t, r.StatusCode, http.StatusNotFound, "there is no API but MCP")

	p := pipe(t, "bridge", "--url", l.url)
	in := `{"jsonrpc":"2.0","id":1,"method":` + "\n" + `garbage` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"nothing/such"}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":9007199254740993},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` +
		"\n"
	_, err = io.WriteString(p.in, in)
	assert.NilError(t, err)
	assert.NilError(t, p.in.Close())
	out, err := io.ReadAll(p.out)
	assert.NilError(t, err)
	assert.NilError(t, p.Wait())
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	assert.Equal(t, len(answers), 4, string(out))
	for i, want := range []string{`"code":-32700`, `"code":-32700`, `"id":2,"error"`,
		`{\"a\":9007199254740993}`} {
		assert.Assert(t, cmp.Contains(answers[i], want))
	}
	assert.Equal(t, p.stderr.String(), "")
	l.end(t)
}

func TestBridgeFails(t *testing.T) {
	t.Parallel()
	s := echoServer(t, "letmein")
	self, err := os.Executable()
	assert.NilError(t, err)
	for _, tt := range []struct {
		args         []string
		code         int
		last, before string // the last lines, and how what comes before begins
	}{
		{words("bridge --http 127.0.0.1:0 -- no-such-program-anywhere"), 4,
			`stdwire: no-such-program-anywhere: start: cannot start "no-such-program-anywhere": executable file not found in $PATH`,
			""},
		{words("bridge --http 127.0.0.1:0 --era legacy -- " + self + " fixture:crash"), 4,
			`stdwire: ` + filepath.Base(self) +
				`: start: exited with status 3 before answering: "boom: missing API key"`,
			"loading\nboom: missing API key\n"},
		{words("bridge --http 127.0.0.1:0 --start-timeout 2s -- " + self + " fixture:silent"), 4,
			`stdwire: ` + filepath.Base(self) + `: start: no answer`, "please log in\n"},
		{words("bridge --http 127.0.0.1:0 --era legacy -- " + self + " fixture:refuse"), 4,
			`stdwire: ` + filepath.Base(self) + `: start: go away`, ""},
		{words("bridge --url http://127.0.0.1:1/mcp"), 4,
			`stdwire: 127.0.0.1:1: start: POST http://127.0.0.1:1/mcp: `, ""},
		{words("bridge --url " + s.URL), 3, `stdwire: ` + strings.TrimPrefix(s.URL, "http://") +
			`: start: POST ` + s.URL + `: 401 Unauthorized: "who are you?"`, ""},
		{words("bridge " + s.URL), 3, `stdwire: ` + strings.TrimPrefix(s.URL, "http://") +
			`: start: POST ` + s.URL + `: 401 Unauthorized: "who are you?"`, ""},
		{words("bridge http://127.0.0.1:1/mcp --token-file " + tokenFile(t, aToken)), 4,
			`stdwire: 127.0.0.1:1: start: POST http://127.0.0.1:1/mcp: `, ""},
		{words("bridge --url http://127.0.0.1:1/mcp --token-file no-such"), 2,
			"stdwire: bridge: --token-file: open no-such", ""},
		{words("bridge --url no-url"), 2, "stdwire: bridge: --url: the value is not an http or https URL", ""},
		{words("bridge --http 80 -- cat"), 2, `stdwire: bridge: --http: "80" is not an address`, ""},
		{words("bridge --http 127.0.0.1:0"), 2, "stdwire: bridge: which server?", ""},
		{words("bridge --url http://x -- cat"), 2,
			"stdwire: bridge: --url and a command after -- exclude each other",
			""},
		{words("bridge --header A:secret -- cat"), 2,
			"stdwire: bridge: --header is for a server at a --url", ""},
		{words("bridge --framing newline --url http://x"), 2,
			"stdwire: bridge: --framing is for a client and a server that are both on stdio", ""},
		{words("bridge --no-auth -- cat"), 2, "stdwire: bridge: --no-auth is for clients over HTTP",
			""},
		{words("bridge --http-sse --url http://x"), 2,
			"stdwire: bridge: --http-sse is for clients over HTTP", ""},
		{words("bridge --era modern -- cat"), 2,
			"stdwire: bridge: --era is for a server that is served over another transport", ""},
		{words("bridge --start-timeout 1s -- cat"), 2,
			"stdwire: bridge: --start-timeout is for a server that is served over another transport",
			""},
		{append(words("bridge --http 0.0.0.0:0 --no-auth"), fixture("good")...), 2,
			"stdwire: bridge: --no-auth: ", ""},
		{append(words("bridge --http "+strings.TrimPrefix(s.URL, "http://")), fixture("good")...),
			2, "stdwire: bridge: listen tcp ", ""},
	} {
		got := run(t, tt.args...)
		assert.Equal(t, got.code, tt.code, "%v: %s", tt.args, got.stderr)
		rest, ok := strings.CutPrefix(got.stderr, tt.before)
		assert.Assert(t, ok && strings.HasPrefix(rest, tt.last), "%v: %s", tt.args, got.stderr)
		lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
		assert.Assert(t, len(lines) == 1 || len(lines) == 2 &&
			strings.HasPrefix(lines[1], "hint: "), "%v: %s", tt.args, got.stderr)
		assert.Equal(t, got.stdout, "")
	}
}

// A bridge over HTTP requires its token and sends the configured header to the server.
func TestBridgeSecrets(t *testing.T) {
	t.Setenv("STDWIRE_TEST_TOKEN", "a token that nobody guesses")
	s := echoServer(t, "letmein")
	l, before := listen(t, "bridge", "--token-env", "STDWIRE_TEST_TOKEN", "--url", s.URL,
		"--header", "Authorization: Bearer letmein")
	assert.Equal(t, len(before), 1)
	assert.Equal(t, run(t, "tools", "--url", l.url).code, 3)
	for _, era := range []string{"modern", "legacy"} {
		got := run(t, "call", "echo", "text=x", "--url", l.url, "--header",
			"Authorization: Bearer "+os.Getenv("STDWIRE_TEST_TOKEN"), "--era", era)
		assert.Equal(t, got, ran{0, "x\n", ""})
	}
	l.end(t)
	for line := range l.stderr {
		assert.Assert(t, !strings.Contains(line, "letmein") &&
			!strings.Contains(line, "guesses"), line)
	}
}
