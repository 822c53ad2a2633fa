package mcptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

type numbers struct{ A, B int }

func newServer(o server.Options) *server.Server {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "undeclared", Summary: "Fails.", Type: dispatch.Read},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, dispatch.NotFound })
	s := o.New(server.Info{Name: "test", Version: "1"}, catalog)
	server.AddTool(s, mcp.Tool{Name: "add"},
		func(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil })
	server.AddTool(s, mcp.Tool{Name: "ask"},
		func(ctx context.Context, _ struct{}) (string, error) {
			in, action, err := server.Ask[numbers](ctx, "numbers", "Which?")
			return fmt.Sprint(in, action), err
		})
	return s
}

// A recorder is a test whose failures are recorded.
type recorder struct {
	testing.TB
	ctx      context.Context
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// record runs f with a test whose failures it returns.
func record(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t, ctx: t.Context()}
	func() {
		defer func() {
			if failed := recover(); failed != nil && failed != any(r) {
				panic(failed)
			}
		}()
		f(r)
	}()
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return strings.Join(r.failures, "\n")
}

var connects = map[string]func(testing.TB, *server.Server, client.Options) *client.Client{
	"stream": mcptest.Connect, "HTTP": mcptest.ConnectHTTP}

func TestConnect(t *testing.T) {
	for name, connect := range connects {
		for _, revision := range mcp.Supported() {
			t.Run(name+" "+string(revision), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := connect(t, newServer(server.Options{Logger: mcptest.Logger(t)}),
						client.Options{Revision: revision})
					sum, err := client.CallAs[int](t.Context(), c, "add", numbers{1, 2})
					assert.NilError(t, err)
					assert.Equal(t, sum, 3)
				})
			})
		}
	}
}

// The test of the example passes.
func TestExample(t *testing.T) { testOrder(t) }

func TestConnectFails(t *testing.T) {
	failures := record(t, func(t testing.TB) {
		mcptest.Connect(t, newServer(server.Options{}), client.Options{Revision: "2020-01-01"})
	})
	assert.Assert(t, cmp.Contains(failures, `mcptest: connect: `))
}

// A callback that does not return outlives the connection.
func TestCallbackDoesNotEnd(t *testing.T) {
	for name, connect := range connects {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running, release := make(chan struct{}), make(chan struct{})
				failures := record(t, func(t testing.TB) {
					s := newServer(server.Options{})
					connect(t, s, client.Options{OnToolsChanged: func([]*mcp.Tool, error) {
						close(running)
						<-release
					}})
					server.AddTool(s, mcp.Tool{Name: "more"},
						func(context.Context, struct{}) (string, error) { return "", nil })
					<-running
				})
				close(release)
				assert.Equal(t, failures, "mcptest: the client still runs 10s after the test")
			})
		})
	}
}

func TestAnswers(t *testing.T) {
	accept := &mcp.ElicitResult{Action: mcp.ElicitAccept,
		Content: json.RawMessage(`{"A":1,"B":2}`)}
	call := func(answers, calls int) func(testing.TB) {
		return func(t testing.TB) {
			list := []*mcp.ElicitResult{accept, accept}[:answers]
			c := mcptest.Connect(t, newServer(server.Options{}), client.Options{
				OnElicit: mcptest.Answers[mcp.ElicitParams](t, list...)})
			for range calls {
				_, _ = client.CallAs[string](t.Context(), c, "ask", nil)
			}
		}
	}
	assert.Equal(t, record(t, call(2, 2)), "")
	assert.Equal(t, record(t, call(2, 1)), "mcptest: the server has asked 1 of 2 questions")
	assert.Assert(t, cmp.Contains(record(t, call(1, 2)), "mcptest: question 2 has no answer: "))
}

// A result that does not fit the schema of its tool fails the call, unless the test says otherwise.
func TestOutput(t *testing.T) {
	type size struct {
		Size string `json:"size" enum:"a,b"`
	}
	for name, connect := range connects {
		for check, fails := range map[client.OutputCheck]bool{client.OutputWarn: true,
			client.OutputFail: true, client.OutputUnchecked: false} {
			t.Run(fmt.Sprint(name, check), func(t *testing.T) {
				s := newServer(server.Options{Logger: mcptest.Logger(t)})
				server.AddTool(s, mcp.Tool{Name: "size"},
					func(context.Context, struct{}) (size, error) { return size{"z"}, nil })
				_, err := connect(t, s, client.Options{Output: check}).CallTool(t.Context(), "size", nil)
				_, failed := errors.AsType[*client.OutputError](err)
				assert.Equal(t, failed, fails, "%v", err)
			})
		}
	}
}

func TestLogger(t *testing.T) {
	failures := record(t, func(t testing.TB) {
		c := mcptest.Connect(t, newServer(server.Options{Logger: mcptest.Logger(t)}),
			client.Options{})
		_, err := client.CallAs[struct{}](t.Context(), c, "undeclared", nil)
		assert.ErrorContains(t, err, "internal_error")
	})
	assert.Assert(t, cmp.Contains(failures,
		"mcptest.Logger: an error in the log fails the test: time="))
	assert.Assert(t, cmp.Contains(failures, "does not declare"))
	assert.Assert(t, cmp.Contains(failures, "operation=undeclared "))
	assert.Equal(t, record(t, func(t testing.TB) {
		log := mcptest.Logger(t)
		log.With("a", 1).WithGroup("g").Info("fine", "b", 2)
	}), "")
	assert.Assert(t, cmp.Contains(record(t, func(t testing.TB) {
		mcptest.Logger(t).With("a", 1).WithGroup("g").Error("bad", "b", 2)
	}), "level=ERROR msg=bad a=1 g.b=2"))
}

func TestGolden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "more", "face.json")
	compare := func(add bool) string {
		return record(t, func(t testing.TB) {
			s := newServer(server.Options{Instructions: "Add."})
			if add {
				server.AddTool(s, mcp.Tool{Name: "more"},
					func(context.Context, struct{}) (string, error) { return "", nil })
			}
			mcptest.Golden(t, mcptest.Connect(t, s, client.Options{}), file)
		})
	}
	assert.Assert(t, cmp.Contains(compare(false), "MCPTEST_UPDATE=1"))
	t.Setenv("MCPTEST_UPDATE", "1")
	assert.Equal(t, compare(false), "")
	t.Setenv("MCPTEST_UPDATE", "")
	assert.Equal(t, compare(false), "")
	assert.Assert(t, cmp.Contains(compare(true), "face.json:"))
	data, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(file, bytes.Replace(data, []byte("Add."), []byte("Аdd."), 1), 0o600))
	assert.Assert(t, cmp.Contains(compare(false), `instead of
  "instructions": "\u0410dd."`))
	for _, want := range []string{`"instructions": "Add."`, `"name": "add"`, `"prompts": []`} {
		assert.Assert(t, cmp.Contains(string(data), want))
	}
}

func TestScript(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		synctest.Test(t, func(t *testing.T) {
			const call, complete = mcp.MethodCallTool, `"resultType":"complete",`
			c, err := client.Options{Era: era, Name: "s"}.Connect(t.Context(), mcptest.Script(t,
				mcptest.Reply{Method: call, Result: `{` + complete + `"content":[]}`},
				mcptest.Reply{Method: call, Error: `{"code":-32000,"message":"no"}`},
				mcptest.Reply{Method: call, Before: []string{"noise"},
					Raw: `{"jsonrpc":"2.0","id":$ID,"result":1}`},
				mcptest.Reply{Method: call},
				mcptest.Reply{Method: call, Close: true}))
			assert.NilError(t, err)
			defer c.Close()
			ctx := t.Context()
			_, err = c.CallTool(ctx, "x", nil)
			assert.NilError(t, err)
			_, err = c.CallTool(ctx, "x", nil)
			failure, ok := errors.AsType[*rpc.Error](err)
			assert.Assert(t, ok && failure.Message == "no", "%v", err)
			_, err = c.CallTool(ctx, "x", nil)
			assert.ErrorIs(t, err, rpc.ErrProtocol)
			_, err = c.CallTool(ctx, "x", nil, client.Timeout(time.Second))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = c.CallTool(ctx, "x", nil)
			assert.ErrorIs(t, err, rpc.ErrClosed)
		})
	}
	failures := record(t, func(t testing.TB) {
		c, err := client.Connect(t.Context(), mcptest.Script(t,
			mcptest.Reply{Method: mcp.MethodGetPrompt, Result: `{}`}))
		assert.NilError(t, err)
		defer c.Close()
		_, err = c.CallTool(t.Context(), "x", nil)
		assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
	})
	assert.Assert(t, cmp.Contains(failures, "mcptest: there is no reply to tools/call"))
	assert.Assert(t, cmp.Contains(failures, "mcptest: 1 replies to prompts/get were not asked for"))
}
