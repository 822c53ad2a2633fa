package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A journal is middleware that records the messages that it gets.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// take returns the records since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

func (j *journal) middleware(name string) rpc.Middleware {
	return func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			j.note("%s %s", name, req.Method)
			result, err := next(ctx, req)
			j.note("%s %s done %v", name, req.Method, err)
			return result, err
		}
	}
}

// replaces returns middleware for one method.
func replaces(method string, with func(next rpc.Handler) rpc.Handler) rpc.Middleware {
	return func(next rpc.Handler) rpc.Handler {
		replaced := with(next)
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			if req.Method == method {
				return replaced(ctx, req)
			}
			return next(ctx, req)
		}
	}
}

func TestMiddlewareSeesWhatComesIn(t *testing.T) {
	var j journal
	o := quiet
	o.Middleware = []rpc.Middleware{j.middleware("outer"), j.middleware("inner")}
	k := speak(t, made(o, completes), "2025-11-25", `{}`)
	k.expectNothing()
	assert.DeepEqual(t, j.take(), []string{
		"outer initialize", "inner initialize", "inner initialize done <nil>",
		"outer initialize done <nil>",
		"outer notifications/initialized", "inner notifications/initialized",
		"inner notifications/initialized done <nil>", "outer notifications/initialized done <nil>",
		"outer ping", "inner ping", "inner ping done <nil>", "outer ping done <nil>",
	})
	k.write(`{"jsonrpc":"2.0","method":"notifications/unheard-of"}`)
	k.expectError("no/such", "", -32601, "no/such")
	k.expectError("resources/read", `{"uri":"z:1"}`, -32002, "not found")
	assert.DeepEqual(t, j.take(), []string{
		"outer notifications/unheard-of", "inner notifications/unheard-of",
		"inner notifications/unheard-of done <nil>", "outer notifications/unheard-of done <nil>",
		"outer no/such", "inner no/such",
		"inner no/such done Method not found: no/such (code -32601)",
		"outer no/such done Method not found: no/such (code -32601)",
		"outer resources/read", "inner resources/read",
		"inner resources/read done Resource not found: z:1 (code -32002)",
		"outer resources/read done Resource not found: z:1 (code -32002)",
	})
}

func TestMiddlewareMayChangeAndRefuse(t *testing.T) {
	o := quiet
	o.Middleware = []rpc.Middleware{
		replaces("prompts/list", func(rpc.Handler) rpc.Handler {
			return func(context.Context, *rpc.Request) (any, error) {
				return nil, fmt.Errorf("secret: %w", rpc.Errorf(-31050, "not today"))
			}
		}),
		replaces("prompts/get", func(rpc.Handler) rpc.Handler {
			return func(context.Context, *rpc.Request) (any, error) {
				return nil, errors.New("secret")
			}
		}),
		replaces("completion/complete", func(rpc.Handler) rpc.Handler {
			return func(context.Context, *rpc.Request) (any, error) { panic("secret") }
		}),
		replaces("resources/read", func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				changed := *req
				changed.Params = json.RawMessage(
					strings.Replace(string(req.Params), "y:1", "x:r", 1))
				return next(ctx, &changed)
			}
		}),
		replaces("resources/list", func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				if _, err := next(ctx, req); err != nil {
					return nil, err
				}
				return json.RawMessage(`{"resources":[]}`), nil
			}
		}),
	}
	k := speak(t, made(o, completes), "2025-11-25", `{}`)
	k.expectError("prompts/list", "", -31050, "not today")
	m := k.expectError("prompts/get", `{"name":"p"}`, -32603, "Internal error")
	assert.Assert(t, !strings.Contains(m.raw, "secret"))
	m = k.expectError("completion/complete", `{}`, -32603, "Internal error")
	assert.Assert(t, !strings.Contains(m.raw, "secret"))
	k.want("resources/read", `{"uri":"y:1"}`,
		`{"contents":[{"uri":"x:r","mimeType":"text/plain","text":"of x:r"}]}`)
	k.want("resources/list", "", `{"resources":[]}`)
	k.want("resources/templates/list", "",
		`{"resourceTemplates":[{"name":"t","uriTemplate":"x:{a}/{b}"},{"name":"t","uriTemplate":"y:{a}"}]}`)
}

// busy is a handler that sends messages of every kind.
func busy(ctx context.Context) (string, error) {
	server.Logger(ctx).Info("log")
	server.Progress(ctx, 1, 0, "")
	return elicitName(ctx)
}

func TestOutgoingSeesWhatGoesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		o := quiet
		o.Outgoing = []rpc.Middleware{j.middleware("outer"), j.middleware("inner")}
		s := everywhere(o, busy)
		k := speak(t, s, "2025-11-25", everything)
		k.want("logging/setLevel", `{"level":"info"}`, `{}`)
		k.want("resources/subscribe", `{"uri":"x:r"}`, `{}`)
		k.start("tools/call", `{"name":"t","_meta":{"progressToken":1}}`)
		k.next().expectMethod("notifications/message", "")
		k.next().expectMethod("notifications/progress", `{"progressToken":1,"progress":1}`)
		k.reply(k.next().expectMethod("elicitation/create", ""), `{"action":"cancel"}`)
		k.next().expectText("cancel ")
		around := func(method string) []string {
			return []string{"outer " + method, "inner " + method, "inner " + method + " done <nil>",
				"outer " + method + " done <nil>"}
		}
		assert.DeepEqual(t, j.take(),
			slices.Concat(around("notifications/message"), around("notifications/progress"),
				around("elicitation/create")))
		s.ResourceUpdated("x:r")
		k.next().expectMethod(updated, `{"uri":"x:r"}`)
		synctest.Wait()
		assert.DeepEqual(t, j.take(), around(updated))
		must(t, s.AddRawTool(echo("new", `{"type":"object"}`)))
		k.next().expectMethod("notifications/tools/list_changed", "")
		synctest.Wait()
		assert.DeepEqual(t, j.take(), around("notifications/tools/list_changed"))
		k.stream.Close()

		k = speak(t, s, newest, everything)
		k.request("subscriptions/listen",
			`{"notifications":{"toolsListChanged":true}}`).expectMethod(acknowledged, "")
		synctest.Wait()
		must(t, s.AddRawTool(echo("newer", `{"type":"object"}`)))
		k.next().expectMethod("notifications/tools/list_changed", "")
		synctest.Wait()
		assert.DeepEqual(t, j.take(),
			slices.Concat(around(acknowledged), around("notifications/tools/list_changed")))
		k.request("tools/call", `{"name":"t"}`).asks("name") // a result: nothing is sent
		assert.Equal(t, len(j.take()), 0)
	})
}

func TestOutgoingMayChangeAndRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func() (any, error) { return nil, rpc.Errorf(-31050, "nobody is asked") }
		o := quiet
		o.Outgoing = []rpc.Middleware{
			replaces("notifications/message", func(rpc.Handler) rpc.Handler { // sends nothing
				return func(context.Context, *rpc.Request) (any, error) { return nil, nil }
			}),
			replaces("notifications/progress", func(next rpc.Handler) rpc.Handler {
				return func(ctx context.Context, req *rpc.Request) (any, error) {
					return next(ctx,
						&rpc.Request{Method: req.Method,
							Params: json.RawMessage(
								strings.Replace(string(req.Params), `"progress":1`,
									`"progress":50,"total":100`, 1))})
				}
			}),
			replaces(updated, func(rpc.Handler) rpc.Handler {
				return func(context.Context, *rpc.Request) (any, error) {
					return nil, errors.New("refused")
				}
			}),
			replaces("elicitation/create", func(rpc.Handler) rpc.Handler {
				return func(context.Context, *rpc.Request) (any, error) { return answer() }
			}),
		}
		s := everywhere(o, busy)
		k := speak(t, s, "2025-11-25", everything)
		k.want("logging/setLevel", `{"level":"info"}`, `{}`)
		call := func() message {
			k.start("tools/call", `{"name":"t","_meta":{"progressToken":"p"}}`)
			k.next().expectMethod("notifications/progress",
				`{"progressToken":"p","progress":50,"total":100}`)
			return k.next()
		}
		call().fails(-31050, "nobody is asked")
		answer = func() (any, error) { return nil, errors.New("secret") }
		assert.Assert(t, !strings.Contains(call().fails(-32603, "Internal error").raw, "secret"))
		// Outgoing middleware may return any value that encodes as the client's result.
		for _, result := range []any{
			json.RawMessage(`{"action":"accept","content":{"name":"M"}}`),
			mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"M"}`)},
			map[string]any{"action": "accept", "content": map[string]string{"name": "M"}},
		} {
			answer = func() (any, error) { return result, nil }
			call().expectText(`accept {"name":"M","n":3}`)
		}
		for _, result := range []any{nil, 7, json.RawMessage(`{"action":"maybe"}`), func() {}} {
			answer = func() (any, error) { return result, nil }
			call().fails(-32603, "Internal error")
		}
		answer = func() (any, error) { panic("secret") }
		call().fails(-32603, "Internal error")
		// A notification that middleware refuses delays no other message.
		k.want("resources/subscribe", `{"uri":"x:r"}`, `{}`)
		s.ResourceUpdated("x:r")
		synctest.Wait()
		must(t, s.AddRawTool(echo("new", `{"type":"object"}`)))
		k.next().expectMethod("notifications/tools/list_changed", "")
		k.expectNothing()
	})
}

// Outgoing middleware may inspect and change the client's answer.
func TestOutgoingSeesTheClientsAnswer(t *testing.T) {
	o := quiet
	o.Outgoing = []rpc.Middleware{
		replaces("elicitation/create", func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				answer, err := next(ctx, req)
				if err != nil {
					return nil, rpc.Errorf(-32051, "translated: %v", err)
				}
				text, err := answer.(rpc.Appender).AppendJSON(nil)
				return json.RawMessage(strings.Replace(string(text), "Ann", "Bob", 1)), err
			}
		})}
	k := speak(t, everywhere(o, elicitName), "2025-11-25", everything)
	k.reply(k.request("tools/call", `{"name":"t"}`), `{"action":"accept","content":{"name":"Ann"}}`)
	k.next().expectText(`accept {"name":"Bob","n":3}`)
	m := k.request("tools/call", `{"name":"t"}`)
	k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, m.ID))
	k.next().fails(-32051, "translated")
}

// A post is the link of a transport that passes messages one by one.
type post struct {
	calls func(method string, params json.RawMessage) (string, error)
	said  chan string
}

func (p *post) Notify(_ context.Context, method string, params any) error {
	text := []byte{}
	if params != nil {
		var err error
		if text, err = params.(rpc.Appender).AppendJSON(nil); err != nil {
			return err
		}
	}
	p.said <- strings.TrimSpace(method + " " + string(text))
	return nil
}

func (p *post) Call(_ context.Context, method string, params, result any) error {
	text, err := params.(rpc.Appender).AppendJSON(nil)
	if err != nil {
		return err
	}
	answer, err := p.calls(method, text)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(answer), result)
}

// handle passes one message to the connection, and returns the response.
func handle(t *testing.T, c *server.Conn, link server.Link, format string, args ...any) message {
	t.Helper()
	m, err := rpc.ParseMessage(fmt.Appendf(nil, format, args...))
	assert.NilError(t, err)
	text, _ := rpc.AppendResponse(t.Context(), nil,
		func(ctx context.Context, req *rpc.Request) (any, error) {
			return c.Handle(ctx, req, link)
		}, m.Request())
	answer := message{t: t, raw: string(text)}
	if len(text) > 0 {
		assert.NilError(t, json.Unmarshal(text, &answer))
	}
	return answer
}

// Everything that is done for a client knows its principal: middleware, Visible, handlers and
// outgoing messages.
func TestPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		who := func(where string) rpc.Middleware {
			return func(next rpc.Handler) rpc.Handler {
				return func(ctx context.Context, req *rpc.Request) (any, error) {
					j.note("%s %s: %s", where, req.Method, dispatch.PrincipalFrom(ctx))
					return next(ctx, req)
				}
			}
		}
		o := quiet
		o.Middleware, o.Outgoing = []rpc.Middleware{who("in")}, []rpc.Middleware{who("out")}
		o.Visible = func(ctx context.Context, kind mcp.Kind, key string) bool {
			return key == "t" || strings.HasPrefix(key, "op") ||
				dispatch.PrincipalFrom(ctx) == "alice"
		}
		s := everywhere(o, func(ctx context.Context) (string, error) {
			if said, err := busy(ctx); err != nil {
				return said, err
			}
			return "for " + dispatch.PrincipalFrom(ctx), nil
		})
		link := &post{func(string, json.RawMessage) (string, error) {
			return `{"action":"cancel"}`, nil
		}, make(chan string, 100)}
		connect := func(link server.Link, principal string) *server.Conn {
			return s.Integration().NewConn(t.Context(),
				server.ConnOptions{Link: link, Principal: principal})
		}
		alice, bob, nobody := connect(link, "alice"), connect(link, "bob"), connect(nil, "")
		defer alice.Close()
		defer bob.Close()
		defer nobody.Close()
		const init = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` +
			everything + `,"clientInfo":{"name":"c","version":"1"}}}`
		for c, name := range map[*server.Conn]string{alice: "alice", bob: "bob", nobody: ""} {
			assert.Equal(t, c.Revision(), mcp.Revision(""))
			assert.Assert(t, handle(t, c, link, init).Result != nil)
			assert.Equal(t, c.Revision(), mcp.Rev20250618)
			for _, tool := range []string{"t", "op_run"} {
				handle(t, c, link,
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":1}}}`,
					tool).expectText("for " + name)
			}
			m := handle(t, c, link,
				`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}`)
			assert.Equal(t, m.Error == nil, name == "alice", m.raw)
			for _, line := range j.take() {
				assert.Assert(t, strings.HasSuffix(line, ": "+name), line)
			}
		}
		// Messages outside of requests have the principal, too.
		assert.Assert(t,
			handle(t, alice, link,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`).raw == "")
		j.take()
		must(t, s.AddRawTool(echo("new", `{"type":"object"}`)))
		synctest.Wait()
		assert.DeepEqual(t, j.take(), []string{"out notifications/tools/list_changed: alice"})

		assert.Equal(t, dispatch.PrincipalFrom(t.Context()), "")

		// A requestState of one principal is invalid for another.
		const call = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t"%s,"_meta":{` +
			elicits + `}}}`
		a := handle(t, alice, link, call, "").asks("name")
		more := fmt.Sprintf(`,"inputResponses":{"name":{"action":"cancel"}},"requestState":%q`,
			a.RequestState)
		handle(t, bob, link, call, more).fails(-32602, "requestState was not made for this request")
		handle(t, nobody, link, call, more).fails(-32602,
			"requestState was not made for this request")
		handle(t, alice, link, call, more).expectText("for alice")
		again := connect(nil, "alice") // another connection of alice
		defer again.Close()
		handle(t, again, link, call, more).expectText("for alice")
	})
}

// Operations know the principal of their caller.
func TestPrincipalOfAnOperation(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "who", Summary: "Who am I?", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			return dispatch.CallFrom(ctx).Principal + " " + dispatch.PrincipalFrom(ctx), nil
		})
	conn := quiet.New(server.Info{Name: "test", Version: "1"}, c).Integration().NewConn(t.Context(),
		server.ConnOptions{Principal: "alice"})
	defer conn.Close()
	handle(t, conn, &post{},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","_meta":{%s}}}`,
		modern).expectText("alice alice")
}
