package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A journal is middleware that records the messages that it gets.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

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
			connection := ctx.Value(contextkey.Connection{}).(interface{ Revision() mcp.Revision })
			j.add("%s %s %s", name, req.Method, connection.Revision())
			result, err := next(ctx, req)
			raw, _ := result.(json.RawMessage)
			j.add("%s %s sent %v, result %t, error %v", name, req.Method, !req.ID.IsZero(),
				raw != nil, err)
			return result, err
		}
	}
}

// echoServer returns a server with a tool that returns its argument, and one that asks for the
// roots.
func echoServer() *server.Server {
	s := server.New(server.Info{Name: "echo", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "echo"},
		func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		})
	server.AddTool(s, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := server.Roots(ctx, "roots")
		return fmt.Sprint(len(roots)), err
	})
	return s
}

func TestOutgoing(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.Latest, mcp.LatestLegacy} {
		t.Run(string(revision), func(t *testing.T) {
			var j journal
			c := mcptest.Connect(t, echoServer(), client.Options{Revision: revision,
				Output:  client.OutputUnchecked, // which lists no tools
				OnRoots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
				Outgoing: []rpc.Middleware{
					j.middleware("outer"), j.middleware("inner")}})
			notification := func(method string) []string {
				return []string{"outer " + method + " 2025-11-25", "inner " + method + " 2025-11-25",
					"inner " + method + " sent false, result false, error <nil>",
					"outer " + method + " sent false, result false, error <nil>"}
			}
			var want []string
			if revision == mcp.LatestLegacy {
				want = notification(mcp.NotificationInitialized)
			}
			assert.DeepEqual(t, j.take(), want)

			text, err := client.CallAs[string](t.Context(), c, "echo", map[string]string{"text": "hi"})
			assert.NilError(t, err)
			assert.Equal(t, text, "hi")
			assert.DeepEqual(t, j.take(), []string{
				fmt.Sprintf("outer tools/call %s", revision), fmt.Sprintf("inner tools/call %s", revision),
				"inner tools/call sent true, result true, error <nil>",
				"outer tools/call sent true, result true, error <nil>"})

			_, err = c.Call(t.Context(), mcp.MethodCallTool, map[string]any{"name": "none"})
			refused, ok := errors.AsType[*rpc.Error](err)
			assert.Assert(t, ok && refused.Code == rpc.CodeInvalidParams)
			assert.Equal(t, len(j.take()), 4)

			assert.NilError(t, c.RootsChanged(t.Context()))
			if revision == mcp.LatestLegacy {
				assert.DeepEqual(t, j.take(), notification(mcp.NotificationRootsListChanged))
			}
		})
	}
}

// Middleware may change requests and results, and may return a result of its own.
func TestOutgoingReplaces(t *testing.T) {
	mode := ""
	c := mcptest.Connect(t, echoServer(), client.Options{
		Logger: slog.New(slog.DiscardHandler),
		Outgoing: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				switch mode {
				case "params":
					changed := *req
					changed.Params = json.RawMessage(`{"name":"echo","arguments":{"text":"new"},` +
						string(req.Params[1:]))
					return next(ctx, &changed)
				case "result":
					return map[string]any{"content": []any{map[string]string{"type": "text",
						"text": "made"}}, "resultType": "complete"}, nil
				case "error":
					return nil, rpc.Errorf(-31000, "not today")
				case "nothing":
					return nil, nil
				case "panic":
					panic("at once")
				case "context":
					ended, cancel := context.WithCancel(ctx)
					cancel()
					return next(ended, req)
				}
				return next(ctx, req)
			}
		}}})
	call := func() (string, error) {
		if mode == "params" {
			raw, err := c.Call(t.Context(), mcp.MethodCallTool, nil)
			if err != nil {
				return "", err
			}
			var result mcp.CallToolResult
			err = json.Unmarshal(raw, &result)
			return fmt.Sprint(err, result.Content[0].(*mcp.TextContent).Text), nil
		}
		return client.CallAs[string](t.Context(), c, "echo", map[string]string{"text": "hi"})
	}
	for _, test := range []struct{ mode, want, err string }{
		{"", "hi", ""},
		{"params", "<nil>new", ""},
		{"result", "made", ""},
		{"error", "", "not today"},
		{"nothing", "", "not an object"},
		{"panic", "", "at once"},
		{"context", "", "cancel"},
		{"", "hi", ""},
	} {
		mode = test.mode
		got, err := call()
		if test.err != "" {
			assert.ErrorContains(t, err, test.err, test.mode)
			continue
		}
		assert.NilError(t, err, test.mode)
		assert.Equal(t, got, test.want)
	}
}

func TestMiddleware(t *testing.T) {
	var j journal
	c := mcptest.Connect(t, echoServer(), client.Options{Revision: mcp.LatestLegacy,
		Roots:      []mcp.Root{{URI: "file:///"}},
		Middleware: []rpc.Middleware{j.middleware("in")}})
	text, err := client.CallAs[string](t.Context(), c, "ask", nil)
	assert.NilError(t, err)
	assert.Equal(t, text, "1")
	assert.DeepEqual(t, j.take(), []string{"in roots/list 2025-11-25",
		"in roots/list sent true, result true, error <nil>"})
}

// A panic at the end of the handshake fails Connect, and nothing is left running.
func TestOutgoingPanicsInHandshake(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("x") },
		"Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			served := make(chan error, 1)
			go func() { served <- echoServer().Serve(t.Context(), there) }()
			_, err := client.Options{Revision: mcp.LatestLegacy,
				Logger: slog.New(slog.DiscardHandler),
				Outgoing: []rpc.Middleware{func(rpc.Handler) rpc.Handler {
					return func(context.Context, *rpc.Request) (any, error) {
						end()
						return nil, nil
					}
				}}}.Connect(t.Context(), client.Stream(here))
			assert.Assert(t, err != nil)
			assert.NilError(t, <-served) // the client has closed the stream
		})
	}
}
