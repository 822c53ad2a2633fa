package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// asOperations runs a test with a server of each era whose tools are operations, and a function
// that calls them with a confirmation and returns JSON.
func asOperations(t *testing.T, o gateway.Options, change func(s *gateway.Upstream),
	test func(t *testing.T, w *fixture, c *dispatch.Catalog,
		call func(operation, arguments string) string)) {
	for _, era := range eras {
		t.Run(era.String(), func(t *testing.T) {
			withFixture(t, era, func(t *testing.T, w *fixture) {
				o := o
				o.Catalog = dispatch.NewCatalog()
				s := w.server("up", era)
				if change != nil {
					change(&s)
				}
				w.reopen(o, s)
				d := dispatch.Options{Logger: quiet}.New(o.Catalog)
				test(t, w, o.Catalog, func(operation, arguments string) string {
					e := d.Dispatch(t.Context(),
						&dispatch.Call{Operation: operation, Arguments: json.RawMessage(arguments),
							Confirmed: true, Principal: "ada", Surface: "test"})
					return string(e.AppendJSON(nil))
				})
			})
		})
	}
}

func operationNames(c *dispatch.Catalog) (names []string) {
	for _, op := range c.Operations() {
		names = append(names, op.Name())
	}
	return names
}

// offer adds a tool to the server "up".
func (w *fixture) offer(tool mcp.Tool,
	forward func(context.Context, json.RawMessage) (json.RawMessage, error)) {
	w.t.Helper()
	assert.NilError(w.t, w.up.Integration().AddItem(forwarded(tool, forward)))
}

func gives(result string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(context.Context, json.RawMessage) (json.RawMessage,
		error) {
		return json.RawMessage(result), nil
	}
}

const settle = 5 * time.Second // list changes are delayed

func TestOperationSpec(t *testing.T) {
	yes, no := true, false
	asOperations(t, gateway.Options{}, nil,
		func(t *testing.T, w *fixture, c *dispatch.Catalog, call func(string, string) string) {
			schema := json.RawMessage(
				`{"properties":{"n":{"type":"integer","default":7}},"required":["m"]}`)
			for name, a := range map[string]*mcp.ToolAnnotations{
				"reads": {ReadOnlyHint: &yes}, "destroys": {DestructiveHint: &yes},
				"adds": {DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no,
					Title: "Add it"}, "silent": nil,
			} {
				w.offer(mcp.Tool{Name: name, Description: " Does it. At\nlength.",
					InputSchema: schema, Annotations: a}, gives(`{}`))
			}
			w.offer(mcp.Tool{Name: "bare"}, gives(`{}`))
			time.Sleep(settle)
			for name, want := range map[string]dispatch.Spec{
				"reads":    {Type: dispatch.Read, Idempotent: true, OpenWorld: true},
				"destroys": {Type: dispatch.Destructive, Destructive: true, OpenWorld: true},
				"adds":     {Type: dispatch.Write, Idempotent: true, Title: "Add it"},
				"silent":   {Type: dispatch.Write, OpenWorld: true},
			} {
				op, ok := c.Lookup("up." + name)
				assert.Assert(t, ok, name)
				got := op.Spec()
				assert.Assert(t, got.Type == want.Type && got.Destructive == want.Destructive &&
					got.Idempotent == want.Idempotent && got.OpenWorld == want.OpenWorld &&
					got.Title == want.Title, "%+v", got)
				assert.Equal(t, op.Destructive(), name == "destroys" || name == "silent")
				assert.Equal(t, got.Summary, "Does it.")
				assert.Assert(t,
					strings.HasPrefix(op.Description(),
						" Does it. At\nlength.\n\nErrors: upstream_error, not_found,"),
					op.Description())
				assert.Equal(t, string(op.Spec().Input), `{"type":"object",`+string(schema[1:]))
			}
			op, _ := c.Lookup("up.bare")
			assert.Equal(t, op.Spec().Summary, `The tool "bare" of the server "up".`)

			d := dispatch.Options{Logger: quiet}.New(c)
			for name, want := range map[string]string{"reads": "", "adds": "",
				"destroys": "Does it. This cannot be undone.",
				"silent":   `The tool "silent" of the server "up" may be destructive.`} {
				e := d.Dispatch(t.Context(),
					&dispatch.Call{Operation: "up." + name, Arguments: json.RawMessage(`{"m":1}`)})
				if want == "" {
					assert.Assert(t, e.Err == nil, name)
					continue
				}
				assert.Assert(t, errors.Is(e.Err, dispatch.ConfirmationRequired))
				assert.Equal(t, e.Err.Message, want)
			}
			assert.Assert(t,
				cmp.Contains(call("up.reads", `{"m":1,"n":"x"}`), `"code":"invalid_input"`))
			assert.Assert(t, cmp.Contains(call("up.reads", `{}`), `"code":"missing_param"`))
			assert.Assert(t, cmp.Contains(call("up.none", `{}`), `"code":"unknown_operation"`))
		})
}

// An operation returns the whole result without needless duplicates.
func TestOperationResults(t *testing.T) {
	asOperations(t, gateway.Options{}, nil,
		func(t *testing.T, w *fixture, _ *dispatch.Catalog, call func(string, string) string) {
			ok := func(data, original string) string {
				if original != "" {
					original = `,"_meta":{"original":` + original + `}`
				}
				return `{"success":true,"data":` + data + `,"error":null` + original + `}`
			}
			failed := func(message, result string) string {
				return `{"success":false,"data":null,"error":{"code":"upstream_error","message":` +
					message + `,"details":` + result + `,"recoverable":true}}`
			}
			text := `[{"type":"text","text":"{\"b\": 1,\n \"a\":[2]}"}]`
			for i, tt := range []struct{ result, want string }{
				{`{"content":[{"type":"text","text":"x"},{"type":"later","y":1.50}],"resultType":"complete"}`,
					ok(`[{"type":"text","text":"x"},{"type":"later","y":1.50}]`, "")},
				{`{"resultType":"complete","content":` + text +
					`,"structuredContent":{"a":[2],"b":1},"isError":false}`,
					ok(`{"a":[2],"b":1}`, "")},
				{`{"resultType":"complete","structuredContent":{"a":9007199254740993}}`,
					ok(`{"a":9007199254740993}`, "")},
				{`{"resultType":"complete","content":[{"type":"text","text":"in words"}],"structuredContent":{"a":1}}`,
					ok(`{"a":1}`, `{"resultType":"complete","content":[{"type":"text","text":"in words"}],"structuredContent":{"a":1}}`)},
				{`{"resultType":"complete","content":[{"type":"text","text":"{}","annotations":{"priority":1}}],"structuredContent":{}}`,
					ok(`{}`, `{"resultType":"complete","content":[{"type":"text","text":"{}","annotations":{"priority":1}}],"structuredContent":{}}`)},
				{`{"resultType":"complete","content":[],"x-new":1.50}`,
					ok(`[]`, `{"resultType":"complete","content":[],"x-new":1.50}`)},
				{`{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`,
					ok(`[]`, "")},
				{`{"resultType":"complete","content":[],"_meta":{"y":1}}`,
					ok(`[]`, `{"resultType":"complete","content":[],"_meta":{"y":1}}`)},
				{`{"resultType":"complete","x":1}`, ok(`{"resultType":"complete","x":1}`, "")},
				{`{"resultType":"complete","structuredContent":{"success":true,"data":{"n":1},"error":null}}`,
					ok(`{"n":1}`, "")},
				{`{"resultType":"complete","content":[{"type":"text","text":" disk "},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"full"}],"isError":true}`,
					failed(`"disk\nfull"`,
						`{"resultType":"complete","content":[{"type":"text","text":" disk "},{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"full"}],"isError":true}`)},
				{`{"resultType":"complete","isError":true}`,
					failed(`"the tool failed and does not say why"`,
						`{"resultType":"complete","isError":true}`)},
				{`{"resultType":"complete","isError":true,"structuredContent":{"success":false,"data":null,"error":{"code":"not_found","message":"no b","details":null,"recoverable":true}}}`,
					failed(`"not_found: no b"`,
						`{"resultType":"complete","isError":true,"structuredContent":{"success":false,"data":null,"error":{"code":"not_found","message":"no b","details":null,"recoverable":true}}}`)},
			} {
				name := fmt.Sprintf("t%d", i)
				w.add(name, gives(tt.result))
				time.Sleep(settle)
				assert.Equal(t, call("up."+name, ``), tt.want)
			}
			w.add("long", gives(
				`{"resultType":"complete","isError":true,"content":[{"type":"text","text":"`+
					strings.Repeat("é", 5000)+`"}]}`))
			w.add("echo", func(_ context.Context, arguments json.RawMessage) (json.RawMessage,
				error) {
				return text2(arguments), nil
			})
			time.Sleep(settle)
			assert.Assert(t,
				cmp.Contains(call("up.long", ``), `"message":"`+strings.Repeat("é", 2048)+`…"`))
			assert.Equal(t, call("up.echo", `{"n":9007199254740993,"a":1.50}`),
				ok(`{"n":9007199254740993,"a":1.50}`, ""), "as they came")
			assert.Equal(t, call("up.echo", `null`), ok(`{}`, ""))
		})
}

func text2(structured json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"resultType":"complete","structuredContent":` + string(structured) +
		`}`)
}

// Operations are added and removed with the tools. An operation that collides is offered when the
// other one is removed.
func TestOperationsFollowTools(t *testing.T) {
	asOperations(t, gateway.Options{}, func(s *gateway.Upstream) {
		s.Filter.Deny = []string{"secret*"}
	}, func(t *testing.T, w *fixture, c *dispatch.Catalog, call func(string, string) string) {
		assert.DeepEqual(t, operationNames(c), []string{"up.verbatim"})
		w.add("secret.one", gives(`{}`))
		w.add("a.b", gives(`{"content":[]}`))
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), []string{"up.a.b", "up.verbatim"})
		w.up.Remove(mcp.KindTool, "verbatim")
		w.offer(mcp.Tool{Name: "a.b", Description: "Another.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)}, gives(`{"content":[1]}`))
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), []string{"up.a.b"})
		op, _ := c.Lookup("up.a.b")
		assert.Equal(t, op.Spec().Summary, "Another.")
		assert.Equal(t, call("up.a.b", `{}`), `{"success":true,"data":[1],"error":null}`)

		assert.NilError(t, w.gateway.Manager().Disable("up"))
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), []string(nil))
		assert.NilError(t, w.gateway.Manager().Enable("up"))
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), []string{"up.a.b"})

		dispatch.Add(c, dispatch.Spec{Name: "other.b", Summary: "Is there already.",
			Type: dispatch.Read}, func(context.Context, struct{}) (int, error) {
			return 1, nil
		})
		w.add("b", gives(`{}`))
		for _, id := range []string{"up.a", "up_a", "other"} { // each has a tool b
			assert.NilError(t, w.gateway.Add(w.server(id, w.era)))
			time.Sleep(settle)
		}
		// up_a.b and up.a.b are one name in MCP.
		want := []string{"other.a.b", "other.b", "other.secret.one", "up.a.b", "up.b", "up_a.a.b",
			"up_a.secret.one"}
		assert.DeepEqual(t, operationNames(c), want)
		assert.Equal(t, call("other.b", `{}`), `{"success":true,"data":1,"error":null}`)
		assert.Assert(t, slices.Contains(w.gateway.Withheld()["up.a"],
			gateway.WithheldItem{Kind: "tool as an operation", Name: "b",
				Reason: gateway.ReasonCollision, Detail: "up"}))
		w.gateway.Remove("up.a")
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), want) // up_a gets the name that up.a had
		w.gateway.Remove("up")
		assert.DeepEqual(t, operationNames(c), []string{"other.a.b", "other.b", "other.secret.one",
			"up_a.a.b", "up_a.b", "up_a.secret.one"})
		w.gateway.Remove("up_a")
		w.gateway.Remove("other")
		assert.DeepEqual(t, operationNames(c), []string{"other.b"})
		w.gateway.Close()
		assert.DeepEqual(t, operationNames(c), []string{"other.b"})
	})
}

// If an input schema does not compile, the server alone checks the arguments, and a warning is
// logged.
func TestOperationWithoutSchema(t *testing.T) {
	var log bytes.Buffer
	c := dispatch.NewCatalog()
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.offer(mcp.Tool{Name: "strange",
			InputSchema: json.RawMessage(`{"type":"object","pattern":"(?=x)"}`)},
			gives(`{"content":[]}`))
		w.gateway.Close()
		w.gateway = gateway.Options{Catalog: c,
			Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(w.downstream)
		assert.NilError(t, w.gateway.Add(w.server("up", mcp.Legacy)))
		time.Sleep(settle)
		op, ok := c.Lookup("up.strange")
		assert.Assert(t, ok)
		assert.Equal(t, string(op.Spec().Input), `{"type":"object","properties":{}}`)
		e := dispatch.Options{}.New(c).Dispatch(t.Context(),
			&dispatch.Call{Operation: "up.strange", Arguments: json.RawMessage(`{"any":1}`),
				Confirmed: true})
		assert.Assert(t, e.Err == nil)
		w.gateway.Close()
	})
	assert.Assert(t,
		cmp.Contains(log.String(),
			`the arguments of an operation are checked by its server only" operation=up.strange server=up tool=strange error=`))
}

// Of two tools with the same name the first is an operation, until it is removed.
func TestOperationOfDuplicateTool(t *testing.T) {
	up := mcptest.Script(t,
		mcptest.Reply{Method: mcp.MethodDiscover, Error: `{"code":-32601,"message":"no"}`},
		mcptest.Reply{Method: mcp.MethodInitialize, Result: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}`},
		mcptest.Reply{Method: mcp.MethodListTools, Result: `{"tools":[{"name":"a","description":"One.","inputSchema":{"type":"object"}},{"name":"a","description":"Two.","inputSchema":{"type":"object"}}]}`})
	var log bytes.Buffer
	c := dispatch.NewCatalog()
	s := server.Options{Logger: quiet}.New(server.Info{Name: "gateway", Version: "1"},
		dispatch.NewCatalog())
	g := gateway.Options{Catalog: c, Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(s)
	assert.NilError(t,
		g.Add(gateway.Upstream{Server: host.Server{ID: "up",
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				return o.Connect(ctx, up)
			}}}))
	g.Settle(t.Context())
	assert.DeepEqual(t, operationNames(c), []string{"up.a"})
	op, _ := c.Lookup("up.a")
	assert.Equal(t, op.Spec().Summary, "One.")
	g.Close()
	assert.DeepEqual(t, operationNames(c), []string(nil))
	assert.Assert(t,
		cmp.Contains(log.String(),
			`a tool is withheld: its definition is invalid" server=up own_name=a error="the server has two with this name"`))
}

func TestOperationErrors(t *testing.T) {
	asOperations(t, gateway.Options{}, func(s *gateway.Upstream) {
		s.Options.CallTimeout = 20 * time.Second
	}, func(t *testing.T, w *fixture, c *dispatch.Catalog, call func(string, string) string) {
		w.add("refuses", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &rpc.Error{Code: -31000, Message: "not with these",
				Data: json.RawMessage(`{"x":1.50}`)}
		})
		w.add("unknown", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, rpc.ErrMethodNotFound
		})
		ended := make(chan error, 10)
		w.add("hangs", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			server.Progress(ctx, 1, 4, "one")
			<-ctx.Done()
			ended <- nil
			return nil, ctx.Err()
		})
		w.add("dies", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return nil, w.upConn.Close()
		})
		time.Sleep(settle)
		for tool, want := range map[string]string{
			"refuses": `"error":{"code":"upstream_error","message":"server \"up\": tool \"refuses\": not with these (code -31000)","details":{"code":-31000,"data":{"x":1.50}},"recoverable":true}`,
			"unknown": `"error":{"code":"not_found","message":"server \"up\": tool \"unknown\": `,
			"hangs":   `"error":{"code":"timeout","message":"server \"up\": tool \"hangs\": `,
			"dies":    `"error":{"code":"upstream_error","message":"server \"up\": tool \"dies\": `,
		} {
			got := call("up."+tool, `{}`)
			assert.Assert(t, cmp.Contains(got, want))
			time.Sleep(settle)
		}
		<-ended

		ctx, cancel := context.WithCancel(t.Context())
		d := dispatch.Options{Logger: quiet}.New(c)
		e := d.Dispatch(ctx,
			&dispatch.Call{Operation: "up.hangs", Confirmed: true,
				Progress: func(done, total float64, message string) {
					assert.Check(t, done == 1 && total == 4 && message == "one")
					cancel()
				}})
		assert.Assert(t, errors.Is(e.Err, dispatch.Cancelled), "%v", e.Err)
		<-ended

		held, _ := c.Lookup("up.refuses")
		w.gateway.Remove("up")
		again := dispatch.NewCatalog()
		assert.NilError(t, again.Register(held)) // like a call that has just found the operation
		e = dispatch.Options{Logger: quiet}.New(again).Dispatch(t.Context(),
			&dispatch.Call{Operation: "up.refuses", Confirmed: true})
		assert.Assert(t, errors.Is(e.Err, dispatch.NotFound), "%v", e.Err)
		assert.NilError(t,
			w.gateway.Add(gateway.Upstream{Server: host.Server{ID: "up",
				Connect: func(context.Context, string, client.Options) (*client.Client, error) {
					return nil, errors.New("no such program")
				}}}))
		e = dispatch.Options{Logger: quiet}.New(again).Dispatch(t.Context(),
			&dispatch.Call{Operation: "up.refuses", Confirmed: true})
		assert.Assert(t, errors.Is(e.Err, dispatch.UpstreamError), "%v", e.Err)
		assert.Assert(t,
			cmp.Contains(e.Err.Message, `server "up" is not available: no such program`))
		assert.NilError(t, w.gateway.Manager().Disable("up"))
		e = dispatch.Options{Logger: quiet}.New(again).Dispatch(t.Context(),
			&dispatch.Call{Operation: "up.refuses", Confirmed: true})
		assert.Assert(t, errors.Is(e.Err, dispatch.StateError), "%v", e.Err)
	})
}

// A question within an operation is refused, or answered by OnElicit of the server's options.
func TestOperationQuestions(t *testing.T) {
	ask := func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		answer, err := server.Elicit(ctx, "name",
			mcp.ElicitParams{Message: "Name?",
				RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return text2(answer.Content), nil
	}
	asOperations(t, gateway.Options{}, nil,
		func(t *testing.T, w *fixture, _ *dispatch.Catalog, call func(string, string) string) {
			w.add("asks", ask)
			time.Sleep(settle)
			got := call("up.asks", `{}`)
			assert.Assert(t,
				cmp.Contains(got,
					`"error":{"code":"not_implemented","message":"the server asks a question (elicitation/create), and nobody can answer it here: `))
			assert.Assert(t, cmp.Contains(got, `"details":{"questions":["elicitation/create"]}`))

			w.add("asks-and-answers",
				func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					if _, err := server.Elicit(ctx, "name",
						mcp.ElicitParams{Message: "Name?",
							RequestedSchema: json.RawMessage(
								`{"type":"object","properties":{}}`)}); w.era == mcp.Modern {
						return nil, err
					}
					return json.RawMessage(`{"isError":true}`), nil
				})
			time.Sleep(settle)
			if got = call("up.asks-and-answers", `{}`); w.era == mcp.Legacy {
				assert.Assert(t,
					cmp.Contains(got,
						`"details":{"questions":["elicitation/create"],"result":{"isError":true}}`))
			}
			assert.Assert(t, cmp.Contains(got, `"error":{"code":"not_implemented"`))
		})
	asked := 0
	asOperations(t, gateway.Options{}, func(s *gateway.Upstream) {
		s.Options.ElicitModes = []string{mcp.ElicitForm}
		s.Options.OnElicit = func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult,
			error) {
			asked++
			return &mcp.ElicitResult{Action: mcp.ElicitAccept,
				Content: json.RawMessage(`{"name":"ada"}`)}, nil
		}
	}, func(t *testing.T, w *fixture, _ *dispatch.Catalog, call func(string, string) string) {
		w.add("asks", ask)
		time.Sleep(settle)
		assert.Equal(t, call("up.asks", `{}`),
			`{"success":true,"data":{"name":"ada"},"error":null}`)
	})
	assert.Equal(t, asked, 2)
}

// A question of a legacy server never goes to the client of another call.
func TestOperationQuestionOfLegacyServer(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		c := dispatch.NewCatalog()
		w.reopen(gateway.Options{Catalog: c}, w.server("up", mcp.Legacy))
		under, goOn := make(chan struct{}), make(chan struct{})
		w.add("waits", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			close(under)
			<-goOn
			return text("done"), nil
		})
		refused := make(chan error, 1)
		w.add("asks", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			_, err := server.Elicit(ctx, "name",
				mcp.ElicitParams{Message: "Name?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			refused <- err
			return text("done"), nil
		})
		time.Sleep(settle)
		o := client.Options{Era: mcp.Modern,
			OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				t.Error("the wrong one is asked")
				return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
			}}
		w.client(o, func(cl *client.Client) {
			done := make(chan error)
			go func() {
				_, err := cl.CallTool(t.Context(), "up__waits", nil)
				done <- err
			}()
			<-under
			e := dispatch.Options{Logger: quiet}.New(c).Dispatch(t.Context(),
				&dispatch.Call{Operation: "up.asks", Confirmed: true})
			assert.Assert(t, e.Err == nil, "%v", e.Err)
			assert.Assert(t, <-refused != nil)
			close(goOn)
			assert.NilError(t, <-done)
		})
	})
}

// The limits, the interceptors and the audit log apply to calls of operations.
func TestOperationControl(t *testing.T) {
	var audit bytes.Buffer
	o := gateway.Options{Audit: &audit}
	o.Interceptors = []dispatch.Interceptor{
		before(func(_ context.Context, i *dispatch.Invocation) error {
			if string(i.Arguments) == `{"a":"no"}` {
				return errors.New("it is private")
			}
			return nil
		}),
		after(func(_ *dispatch.Invocation, result json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(result, []byte(`"key"`), []byte(`"…"`), 1), nil
		}),
	}
	asOperations(t, o, func(s *gateway.Upstream) {
		s.MaxArguments, s.MaxResult = 20, 100
	}, func(t *testing.T, w *fixture, _ *dispatch.Catalog, call func(string, string) string) {
		w.add("echo", func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return text2(arguments), nil
		})
		w.add("much", gives(`{"resultType":"complete","x":"`+strings.Repeat("x", 100)+`"}`))
		time.Sleep(settle)
		assert.Equal(t, call("up.echo", `{"a":"key"}`),
			`{"success":true,"data":{"a":"…"},"error":null}`)
		blocked := `"error":{"code":"blocked","message":"server \"up\": tool `
		assert.Assert(t,
			cmp.Contains(call("up.echo", `{"a":"no"}`), blocked+
				`\"echo\": refused before the call: it is private","details":{"refused_by":"before"},"recoverable":false}`))
		assert.Assert(t,
			cmp.Contains(call("up.echo", `{"a":"0123456789012345"}`), blocked+
				`\"echo\": its arguments have 24 bytes`))
		assert.Assert(t, cmp.Contains(call("up.much", `{}`), blocked+`\"much\": its result has`))
		w.gateway.Close()
		for _, want := range []string{`"outcome":"ok"`, `"refused_by":"before"`,
			`"refused_by":"limit"`, `"refused_by":"limit"`} {
			line, err := audit.ReadString('\n')
			assert.NilError(t, err)
			assert.Assert(t, strings.Contains(line, `"principal":"ada","server":"up","tool":"`) &&
				strings.Contains(line, want), line)
		}
		audit.Reset()
	})
}
