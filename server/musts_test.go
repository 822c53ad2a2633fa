package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The MUST and MUST NOT rules of the specification for servers that are the same on every transport
// and that no other test of this package covers. The list of all rules is in
// streamable/musts_test.go.

// 2026-07-28 and 2025-11-25, client/elicitation: the url must be a valid URL.
func TestElicitationURLMustBeValid(t *testing.T) {
	var url string
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Elicit(ctx, "u",
			mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Pay.", URL: url})
		if err == nil || errors.As(err, new(*rpc.Error)) ||
			!strings.Contains(err.Error(), "URL must be absolute") {
			return "", err
		}
		return "refused", nil
	})
	for _, url = range []string{"", "pay", "/pay", "//example.com/pay", "https:", "https:///pay",
		"http://[::1", "https://example.com/%zz", " https://example.com"} {
		for _, revision := range []string{"2025-11-25", newest} {
			speak(t, s, revision, everything).request("tools/call", `{"name":"t"}`).expectText("refused")
		}
	}
	for _, url = range []string{"https://example.com", "http://localhost:8080/a?b=c#d", "app:pay"} {
		speak(t, s, newest, everything).request("tools/call", `{"name":"t"}`).asks("u")
	}
}

// 2026-07-28 and 2025-11-25, client/sampling: a message with tool results contains nothing else,
// and each tool use has a result in the next message.
func TestSamplingToolResultsMustMatch(t *testing.T) {
	var messages []mcp.SamplingMessage
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Sample(ctx, "s",
			mcp.CreateMessageParams{MaxTokens: 1, Messages: messages,
				Tools: []*mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
		if err != nil && strings.Contains(err.Error(), `server: Sample "s": `) {
			return "refused", nil
		}
		return "", err
	})
	const user, assistant = mcp.RoleUser, mcp.RoleAssistant
	say := func(role mcp.Role, content ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: role, Content: content}
	}
	text := &mcp.TextContent{Text: "x"}
	use := func(id string) mcp.Content {
		return &mcp.ToolUseContent{ID: id, Name: "t", Input: json.RawMessage(`{}`)}
	}
	result := func(id string) mcp.Content {
		return &mcp.ToolResultContent{ToolUseID: id, Content: []mcp.Content{text}}
	}
	for name, tc := range map[string]struct {
		good     bool
		messages []mcp.SamplingMessage
	}{
		"text": {true, []mcp.SamplingMessage{say(user, text)}},
		"one use": {true,
			[]mcp.SamplingMessage{say(user, text), say(assistant, use("a")),
				say(user, result("a"))}},
		"several, in another order": {true,
			[]mcp.SamplingMessage{say(assistant, text, use("a"), use("b")),
				say(user, result("b"), result("a")), say(assistant, text)}},
		"again": {true,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(user, result("a")),
				say(assistant, use("a")), say(user, result("a"))}},
		"no result": {false, []mcp.SamplingMessage{say(assistant, use("a"))}},
		"no result, but text": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(user, text)}},
		"one result of two": {false,
			[]mcp.SamplingMessage{say(assistant, use("a"), use("b")), say(user, result("a"))}},
		"a result too late": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(assistant, text),
				say(user, result("a"))}},
		"a result and text": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(user, result("a"), text)}},
		"a result of another": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(user, result("b"))}},
		"a result twice": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(user, result("a"), result("a"))}},
		"a result of nothing": {false, []mcp.SamplingMessage{say(user, result("a"))}},
		"a result by the assistant": {false,
			[]mcp.SamplingMessage{say(assistant, use("a")), say(assistant, result("a"))}},
		"a use by the user": {false,
			[]mcp.SamplingMessage{say(user, use("a")), say(user, result("a"))}},
		"no role":      {false, []mcp.SamplingMessage{say("", text)}},
		"another role": {false, []mcp.SamplingMessage{say("system", text)}},
		"no content":   {false, []mcp.SamplingMessage{say(user)}},
	} {
		t.Run(name, func(t *testing.T) {
			messages = tc.messages
			m := speak(t, s, newest, everything).request("tools/call", `{"name":"t"}`)
			legacy := speak(t, s, "2025-11-25", everything).request("tools/call", `{"name":"t"}`)
			if !tc.good {
				m.expectText("refused")
				legacy.expectText("refused")
				return
			}
			m.asks("s")
			legacy.expectMethod("sampling/createMessage", "")
		})
	}
}

// 2026-07-28, server/utilities/caching: ttlMs is not negative, and each cacheable result has hints.
func TestCacheHintsMustBeThereAndNotNegative(t *testing.T) {
	o := quiet
	o.ListTTL = -time.Second
	s := made(o, completes, func(s *server.Server) {
		r := resource("x:negative")
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			result := text("x:negative", "t")
			result.TTLMs = new(int64(-5))
			return result, nil
		}
		must(t, s.AddResource(r))
	})
	k := speak(t, s, newest, `{}`)
	for method, params := range map[string]string{"server/discover": "", "tools/list": "",
		"prompts/list": "", "resources/list": "", "resources/templates/list": "",
		"resources/read": `{"uri":"x:negative"}`} {
		m := k.request(method, params)
		assert.Assert(t, strings.Contains(m.raw, `"ttlMs":0,"cacheScope":"private"`), m.raw)
	}
}

// 2026-07-28, server/utilities/caching: all pages of a list have the same scope.
func TestCacheScopeMustBeTheSameOnAllPages(t *testing.T) {
	for scope, public := range map[string]bool{"private": false, "public": true} {
		o := quiet
		o.PageSize, o.PublicLists = 1, public
		s := made(o)
		for _, d := range kinds {
			must(t, errors.Join(d.add(s, "a"), d.add(s, "b"), d.add(s, "c")))
		}
		k := speak(t, s, newest, `{}`)
		for _, d := range kinds {
			cursor := ""
			for pages := 1; ; pages++ {
				m := k.request(d.method, fmt.Sprintf(`{%s}`, cursor))
				var page struct{ CacheScope, NextCursor string }
				assert.NilError(t, json.Unmarshal(m.Result, &page))
				assert.Equal(t, page.CacheScope, scope)
				if page.NextCursor == "" {
					assert.Equal(t, pages, 3)
					break
				}
				cursor = fmt.Sprintf(`"cursor":%q`, page.NextCursor)
			}
		}
	}
}

// 2026-07-28, basic/versioning: the ID of an extension has a prefix.
func TestExtensionsMustHavePrefixes(t *testing.T) {
	for id, good := range map[string]bool{"com.example/x": true, "x": false, "": false, "/x": false,
		"1.a/x": false, "com.example/-": false} {
		o := quiet
		o.Extensions = []server.Extension{{ID: id}}
		func() {
			defer func() { assert.Equal(t, recover() == nil, good, id) }()
			made(o)
		}()
	}
}

// 2026-07-28, basic: capabilities that a client has declared in another request, or in a handshake,
// do not count.
func TestPriorRequestsMustNotCount(t *testing.T) {
	s := everywhere(quiet, elicitName)
	k := connect(t, s)
	k.speak("2025-11-25", everything)
	k.speak(newest, everything)
	inPlaces(t, func(t *testing.T, p place) {
		k.t = t
		k.speak(newest, everything)
		k.request(p.method, p.params).asks("name")
		k.speak(newest, `{}`)
		k.expectError(p.method, p.params, -32021, "elicitation")
	})
	k.t = t
	k.write(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	k.next().fails(-32602, "clientCapabilities")
}

// basic/transports, stdio, of all revisions: a message contains no newline and is valid UTF-8.
func TestMessagesMustBeLinesOfUTF8(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		for name, result := range map[string]*mcp.CallToolResult{
			"lines": {StructuredContent: json.RawMessage("{\n\"a\":\r\n1\n}"),
				Content: []mcp.Content{&mcp.TextContent{Text: "a\nb\r\n\u2028"}}},
			"bytes": {Content: []mcp.Content{&mcp.TextContent{Text: "a\xffb"}},
				StructuredContent: json.RawMessage(`{}`)},
			"broken": {StructuredContent: json.RawMessage("{\"a\":\"\xff\"}")},
		} {
			tool := echo(name, `{"type":"object"}`)
			tool.Call = func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				server.Progress(ctx, 1, 2, "x\xff\ny")
				server.Logger(ctx).Info("x\xff\ny", "k\xff\n", "v\xff\n", "raw",
					json.RawMessage("{\n}"))
				return result, nil
			}
			must(t, s.AddRawTool(tool))
		}
	})
	k := speak(t, s, newest, `{}`)
	k.meta += `,"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"`
	for _, name := range []string{"lines", "bytes", "broken"} {
		k.start("tools/call", fmt.Sprintf(`{"name":%q}`, name))
		messages := 1
		for m := k.next(); m.Method != ""; m = k.next() {
			// each line is a whole message, otherwise next fails
			assert.Assert(t, utf8.ValidString(m.raw), "%q", m.raw)
			messages++
		}
		assert.Equal(t, messages, 3)
	}
}

// 2026-07-28, basic/patterns/cancellation: a server cancels only subscriptions that it ends itself,
// and sends nothing more to a client that has ended one itself.
func TestServerMustCancelItsSubscriptionsOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(c *server.Conn, cancel context.CancelCauseFunc)
		told bool
	}{
		"the server": {func(c *server.Conn, _ context.CancelCauseFunc) {
			c.Finish()
		}, true},
		"the server, at once": {func(c *server.Conn, cancel context.CancelCauseFunc) {
			c.Finish()
			cancel(errors.New("closed"))
		}, true},
		"the client": {func(_ *server.Conn, cancel context.CancelCauseFunc) {
			cancel(rpc.ErrCancelled)
		}, false},
		"the client, just before the other": {func(c *server.Conn, cancel context.CancelCauseFunc) {
			cancel(rpc.ErrCancelled)
			c.Finish()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := three(t, quiet).Integration().NewConn(t.Context(), server.ConnOptions{})
				defer c.Close()
				g := &gate{make(chan struct{}), make(chan string, 100)}
				close(g.open)
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error)
				go func() {
					m, _ := rpc.ParseMessage(
						[]byte(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"_meta":{` +
							modern + `},"notifications":{}}}`))
					_, err := c.Handle(ctx, m.Request(), g)
					ended <- err
				}()
				assert.Assert(t, strings.HasPrefix(<-g.said, acknowledged))
				synctest.Wait()
				tc.end(c, cancel)
				err := <-ended
				assert.Equal(t, err == nil, tc.told, "%v", err)
				if tc.told {
					assert.Assert(t,
						strings.HasPrefix(<-g.said, `notifications/cancelled {"requestId":"s",`))
				}
				assert.Equal(t, len(g.said), 0)
			})
		})
	}
	// Requests that end without a response for other reasons are not cancelled: those that the
	// client cancels, and those that wait for the user's answer.
	s := everywhere(quiet, elicitName)
	k := speak(t, s, newest, everything)
	inPlaces(t, func(t *testing.T, p place) {
		k.t = t
		k.request(p.method, p.params).asks("name")
		k.start(p.method, p.params)
		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, k.id))
		k.start("no/such", "")
		for m := k.next(); m.Error == nil; m = k.next() {
			assert.Assert(t, m.Method == "", m.raw)
		}
	})
}

// 2026-07-28, server/utilities/logging: log messages go only to the request that wants them, from
// the level that it wants, and to no subscription.
func TestLogMustGoToItsRequestOnly(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		server.Logger(ctx).Info("quiet")
		server.Logger(ctx).Error("loud")
		return "done", nil
	})
	k := speak(t, s, newest, `{}`)
	k.request("subscriptions/listen",
		`{"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:r"]}}`).expectMethod(
		acknowledged, "")
	plain := k.meta
	inPlaces(t, func(t *testing.T, p place) {
		k.t = t
		for level, want := range map[string]int{"": 0, "error": 1, "debug": 2} {
			k.meta = plain
			if level != "" {
				k.meta += fmt.Sprintf(`,"io.modelcontextprotocol/logLevel":%q`, level)
			}
			k.start(p.method, p.params)
			got := 0
			m := k.next()
			for ; m.Method != ""; m = k.next() {
				assert.Equal(t, m.Method, "notifications/message", m.raw)
				assert.Assert(t, !strings.Contains(m.raw, "subscriptionId"), m.raw)
				got++
			}
			m.expectText("done")
			assert.Equal(t, got, want, level)
		}
	})
}

// server/utilities/logging, of all revisions: the server sends nothing of its own log to clients,
// in particular no secrets.
func TestLogMustNotHaveSecrets(t *testing.T) {
	o := quiet
	o.Logger = slog.New(slog.DiscardHandler)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "fail", Summary: "Fails.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) {
			return "", errors.New("secret")
		})
	dispatch.Add(c, dispatch.Spec{Name: "panic", Summary: "Panics.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { panic("secret") })
	s := o.New(server.Info{Name: "test", Version: "1.2"}, c)
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		if k.modern() {
			k.meta += `,"io.modelcontextprotocol/logLevel":"debug"`
		} else {
			k.want("logging/setLevel", `{"level":"debug"}`, `{}`)
		}
		for _, tool := range []string{"fail", "panic"} {
			m := k.request("tools/call", fmt.Sprintf(`{"name":%q}`, tool))
			assert.Assert(t, m.Result != nil && !strings.Contains(m.raw, "secret"), m.raw)
		}
	})
}

// 2026-07-28, basic, _meta: only a valid trace context is passed on.
func TestTraceMustBeOne(t *testing.T) {
	s := everywhere(quiet, elicitName)
	k := speak(t, s, newest, everything)
	plain := k.meta
	const good = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`
	for trace, want := range map[string]string{
		good: `"_meta":{` + good + `}`,
		good + `,"tracestate":"a=b","baggage":"k=v"`: `"_meta":{"baggage":"k=v",` +
			good + `,"tracestate":"a=b"}`,
		good + `,"tracestate":7,"baggage":{}`:  `"_meta":{` + good + `}`,
		`"traceparent":7`:                      "",
		`"traceparent":"x","tracestate":"a=b"`: "",
		`"traceparent":"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"`: "",
		`"tracestate":"a=b","baggage":"k=v"`:                                      "",
	} {
		k.meta = plain + "," + trace
		a := k.request("tools/call", `{"name":"t"}`).asks("name")
		params := string(a.InputRequests["name"].Params)
		assert.Equal(t, strings.Contains(params, `"_meta"`), want != "", params)
		assert.Assert(t, strings.Contains(params, want), params)
	}
}

const noisy = "STDWIRE_TEST_NOISY_SERVER" // makes the test below run the server

// basic/transports, stdio, of all revisions: standard output contains only messages, whatever
// operations and their children print.
func TestStdoutMustHaveMessagesOnly(t *testing.T) {
	if os.Getenv(noisy) != "" {
		c := dispatch.NewCatalog()
		dispatch.Add(c, dispatch.Spec{Name: "print", Summary: "Prints.", Type: dispatch.Read},
			func(ctx context.Context, _ struct{}) (string, error) {
				fmt.Println("noise")
				child := exec.CommandContext(ctx, "/bin/echo", "noise")
				child.Stdout = os.Stdout
				return "printed", child.Run()
			})
		if err := quiet.New(server.Info{Name: "noisy", Version: "1"},
			c).ServeStdio(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if runtime.GOOS != "linux" {
		t.Skip("what operations print can be kept off standard output on Linux only")
	}
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"print","_meta":{` +
		modern + `}}}` + "\n"
	child := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestStdoutMustHaveMessagesOnly$")
	child.Env = append(os.Environ(), noisy+"=1", "GORACE=atexit_sleep_ms=0")
	var noise strings.Builder
	child.Stderr = &noise
	in, err := child.StdinPipe()
	assert.NilError(t, err)
	out, err := child.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, child.Start())
	_, err = fmt.Fprintf(in, call+call+call, 1, 2, 3)
	assert.NilError(t, err)
	lines := bufio.NewReader(out)
	for range 3 { // before the end of its input, after which calls have little time
		line, err := lines.ReadString('\n')
		assert.NilError(t, err)
		assert.Assert(t, strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`) &&
			strings.Contains(line, "printed"), line)
	}
	assert.NilError(t, in.Close())
	rest, err := io.ReadAll(lines)
	assert.NilError(t, err)
	assert.Equal(t, string(rest), "")
	assert.NilError(t, child.Wait())
	assert.Equal(t, strings.Count(noise.String(), "noise\n"), 6)
}
