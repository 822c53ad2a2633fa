package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A callLog is an interceptor that records calls and their results.
type callLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *callLog) intercept(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
		result, err := next(ctx, c)
		l.mu.Lock()
		defer l.mu.Unlock()
		made, _ := result.(*server.Result)
		l.lines = append(l.lines, fmt.Sprintf("%s %s [%s] %s: %s isError=%t err=%v", c.Kind, c.Name,
			operation(c), c.Arguments, made.Type(), made.IsError(), err))
		return result, err
	}
}

// operation returns the name of the operation of a call, or "".
func operation(c *dispatch.Invocation) string {
	if c.Operation == nil {
		return ""
	}
	return c.Operation.Name()
}

func (l *callLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.lines = nil }()
	return strings.Join(l.lines, "\n")
}

type contextKey struct{}

// interceptedServer has each kind of tool, prompt and resource.
func interceptedServer(t *testing.T, o server.Options) *server.Server {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.op", Summary: "Does.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(ctx context.Context, in struct {
			N int `json:"n"`
		}) (int, error) {
			if in.N < 0 {
				return 0, dispatch.NotFound
			}
			return in.N, nil
		})
	s := o.New(server.Info{Name: "s", Version: "1"}, c)
	server.AddTool(s, mcp.Tool{Name: "typed"},
		func(ctx context.Context, in struct {
			N int `json:"n"`
		}) (string, error) {
			return fmt.Sprint(in.N, ctx.Value(contextKey{})), nil
		})
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "raw"},
		Call: func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			if string(arguments) == `{"fail":1}` {
				return nil, errors.New("secret")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{
				mcp.Text(fmt.Sprint(string(arguments), ctx.Value(contextKey{})))}}, nil
		}}))
	assert.NilError(t, s.Integration().AddItem(forwarded(mcp.Tool{Name: "forwarded"},
		func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return []byte(`{"content":[],"isError":true}`), nil
		})))
	server.AddTool(s, mcp.Tool{Name: "asking"},
		func(ctx context.Context, _ struct{}) (string, error) {
			answer, _, err := server.Ask[struct {
				Size string `json:"size"`
			}](ctx, "size", "Which?")
			return answer.Size, err
		})
	server.Must(s.AddPrompt(server.Prompt{
		Prompt: mcp.Prompt{Name: "prompt", Arguments: []mcp.PromptArgument{{Name: "who"}}},
		Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{
				Description: fmt.Sprint(arguments, ctx.Value(contextKey{}))}, nil
		}}))
	server.Must(s.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:1", Name: "x"},
		Read: func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
				{URI: uri, Text: fmt.Sprint(ctx.Value(contextKey{}))}}}, nil
		}}))
	server.Must(s.AddResourceTemplate(server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: "y:{id}", Name: "y"},
		Read: func(_ context.Context, uri string,
			_ map[string]string) (*mcp.ReadResourceResult, error) {
			return nil, server.ResourceNotFound(uri)
		}}))
	return s
}

// An interceptor gets every call, in both eras and on both transports, and its context reaches the
// function.
func TestInterceptorsSeeEveryCall(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		for name, connect := range map[string]func(testing.TB, *server.Server,
			client.Options) *client.Client{"memory": mcptest.Connect, "HTTP": mcptest.ConnectHTTP} {
			t.Run(fmt.Sprint(era, name), func(t *testing.T) {
				var log callLog
				o := quiet
				o.Interceptors = []dispatch.Interceptor{log.intercept,
					func(next dispatch.Handler) dispatch.Handler {
						return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result,
							error) {
							assert.Check(t, c.Surface == "mcp" && c.RequestID != "")
							revision, _ := mcp.FeaturesOf(server.ClientFrom(ctx).Revision)
							assert.Check(t, revision.Era == era)
							return next(context.WithValue(ctx, contextKey{}, "inner"), c)
						}
					}}
				c := connect(t, interceptedServer(t, o), client.Options{Era: era})
				call := func(tool, arguments string) string {
					result, err := c.CallTool(t.Context(), tool, json.RawMessage(arguments))
					if err != nil {
						return err.Error()
					}
					if len(result.Content) == 0 {
						return ""
					}
					return result.Content[0].(*mcp.TextContent).Text
				}
				call("a_op", `{"n":1}`)
				assert.Equal(t, log.take(), `tool a_op [a.op] {"n":1}: complete isError=false err=<nil>`)
				call("a_op", `{"n":-1}`)
				assert.Equal(t, log.take(), `tool a_op [a.op] {"n":-1}: complete isError=true err=<nil>`)
				assert.Equal(t, call("typed", `{"n":2}`), "2inner")
				assert.Equal(t, log.take(), `tool typed [] {"n":2}: complete isError=false err=<nil>`)
				assert.Equal(t, call("raw", `{}`), "{}inner")
				assert.Equal(t, log.take(), `tool raw [] {}: complete isError=false err=<nil>`)
				assert.Assert(t, !strings.Contains(call("raw", `{"fail":1}`), "secret"))
				assert.Equal(t, log.take(), `tool raw [] {"fail":1}: complete isError=false err=secret`)
				call("forwarded", `{}`)
				assert.Equal(t, log.take(), `tool forwarded [] {}: complete isError=true err=<nil>`)
				prompt, err := c.GetPrompt(t.Context(), "prompt", map[string]string{"who": "me"})
				assert.NilError(t, err)
				assert.Equal(t, prompt.Description, "map[who:me]inner")
				assert.Equal(t, log.take(),
					`prompt prompt [] {"who":"me"}: complete isError=false err=<nil>`)
				read, err := c.ReadResource(t.Context(), "x:1")
				assert.NilError(t, err)
				assert.Equal(t, read.Contents[0].Text, "inner")
				assert.Equal(t, log.take(), `resource x:1 [] : complete isError=false err=<nil>`)
				_, err = c.ReadResource(t.Context(), "y:2")
				assert.ErrorContains(t, err, "not found")
				assert.Assert(t, strings.HasPrefix(log.take(), "resource y:2 [] : complete"))
				call("unknown", `{}`)
				assert.Equal(t, log.take(), "")
			})
		}
	}
}

// Only in the modern era are the questions of a call results of their own.
func TestInterceptorsSeeQuestions(t *testing.T) {
	for era, want := range map[mcp.Era]string{
		mcp.Legacy: "tool asking [] {}: complete isError=false err=<nil>",
		mcp.Modern: "tool asking [] {}: input_required isError=false err=<nil>\n" +
			"tool asking [] {}: complete isError=false err=<nil>"} {
		var log callLog
		o := quiet
		o.Interceptors = []dispatch.Interceptor{log.intercept}
		c := mcptest.Connect(t, interceptedServer(t, o), client.Options{Era: era,
			OnElicit: mcptest.Answers[mcp.ElicitParams](t, &mcp.ElicitResult{
				Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)})})
		size, err := client.CallAs[string](t.Context(), c, "asking", struct{}{})
		assert.NilError(t, err)
		assert.Equal(t, size, "large")
		assert.Equal(t, log.take(), want, era)
	}
}

// A handler with RequireInput runs once for an interceptor, however often a legacy client is asked.
func TestInterceptorsAndRequireInput(t *testing.T) {
	var log callLog
	o := quiet
	o.Interceptors = []dispatch.Interceptor{log.intercept}
	s := o.New(server.Info{Name: "s", Version: "1"}, nil)
	runs := 0
	assert.NilError(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "rounds"},
		Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			if runs++; runs < 3 {
				return nil, server.RequireInput(ctx,
					mcp.InputRequests{"roots": {Method: mcp.MethodListRoots}}, fmt.Sprint(runs))
			}
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
		}}))
	c := mcptest.Connect(t, s, client.Options{Era: mcp.Legacy, Roots: []mcp.Root{}})
	_, err := c.CallTool(t.Context(), "rounds", nil)
	assert.NilError(t, err)
	assert.Equal(t, runs, 3)
	assert.Equal(t, log.take(), "tool rounds [] {}: complete isError=false err=<nil>")
}

// An interceptor may refuse a call, and replace its arguments and result.
func TestInterceptorsRefuseAndReplace(t *testing.T) {
	var logged strings.Builder
	o := server.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	o.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			own := *c
			switch string(c.Arguments) {
			case `{"n":1}`:
				return nil, dispatch.Errorf(dispatch.NotFound, "not today")
			case `{"n":2}`:
				return nil, rpc.Errorf(-31050, "refused")
			case `{"n":3}`:
				return nil, errors.New("secret")
			case `{"n":4}`:
				panic("secret")
			case `{"n":5}`:
				own.Arguments = json.RawMessage(`{"n":50}`)
			case `{"n":6}`:
				own.Arguments = json.RawMessage(`{"n":`)
			case `{"n":7}`:
				return server.NewResult(
					[]byte(`{"content":[{"type":"text","text":"replaced"}]}`)), nil
			case `{"n":8}`:
				return server.NewResult([]byte(`[]`)), nil
			case `{"n":9}`:
				return next(ctx, &dispatch.Invocation{Kind: c.Kind, Name: c.Name})
			case `{"n":10}`:
				if _, err := next(ctx, c); err != nil {
					return nil, err
				}
				return nil, nil
			case `{"n":11}`:
				return nil, nil
			case `{"n":12}`:
				return dispatch.Envelope{Data: json.RawMessage(`{}`)}, nil
			}
			return next(ctx, &own)
		}
	}}
	c := mcptest.Connect(t, interceptedServer(t, o), client.Options{Output: client.OutputUnchecked})
	for n, want := range map[int]string{
		0: "0 <nil>", 1: "isError not today", 2: "refused", 3: "Internal error", 4: "Internal error",
		5: "50 <nil>", 6: "Internal error", 7: "replaced", 8: "Internal error",
		9: "Internal error", 10: "Internal error", 11: "Internal error",
		12: "Internal error",
	} {
		for _, tool := range []string{"typed", "raw", "a_op"} {
			result, err := c.CallTool(t.Context(), tool, json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)))
			switch {
			case err != nil:
				assert.ErrorContains(t, err, want, "%s %d", tool, n)
			case n == 0 || n == 5:
				assert.Assert(t, !result.IsError, "%s %d", tool, n)
				if tool == "typed" {
					assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, want)
				}
			default:
				got := result.Content[0].(*mcp.TextContent).Text
				if result.IsError {
					got = "isError " + got
				}
				assert.Equal(t, got, want, "%s %d", tool, n)
			}
		}
	}
	for _, mistake := range []string{"arguments that are not JSON", "not a JSON object",
		"without its Invocation"} {
		assert.Assert(t, strings.Contains(logged.String(), mistake), logged.String())
	}
	assert.Equal(t, strings.Count(logged.String(), "error=secret"), 3)
}

// A call that becomes a task is wrapped in its task.
func TestInterceptorsOfTasks(t *testing.T) {
	var log callLog
	o := quiet
	ended := make(chan struct{})
	o.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			defer close(ended)
			return next(ctx, c)
		}
	}, log.intercept}
	s := o.New(server.Info{Name: "s", Version: "1"}, nil)
	release := make(chan struct{})
	server.AddTool(s, mcp.Tool{Name: "slow",
		Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskRequired}},
		func(context.Context, struct{}) (string, error) { <-release; return "done", nil })
	c := mcptest.Connect(t, s, client.Options{Era: mcp.Modern})
	task, err := c.StartTool(t.Context(), "slow", nil)
	assert.NilError(t, err)
	assert.Equal(t, log.take(), "")
	close(release)
	<-ended
	_, err = task.Wait(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, log.take(), "tool slow [] {}: complete isError=false err=<nil>")
}

// With a tool for each service, the call has the name of the operation.
func TestInterceptorsOfServices(t *testing.T) {
	var seen []string
	o := quiet
	o.Tools = server.ToolPerService
	o.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			seen = append(seen, c.Name+" "+operation(c))
			return next(ctx, c)
		}
	}}
	c := mcptest.Connect(t, interceptedServer(t, o), client.Options{})
	_, err := c.CallTool(t.Context(), "a",
		map[string]any{"action": "op", "params": map[string]int{"n": 1}})
	assert.NilError(t, err)
	assert.Assert(t, slices.Equal(seen, []string{"a a.op"}), seen)
}
