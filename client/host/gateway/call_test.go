package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// reopen replaces the gateway by one with these options.
func (w *fixture) reopen(o gateway.Options, s gateway.Upstream) {
	w.t.Helper()
	w.gateway.Close()
	o.Logger = quiet
	w.gateway = o.New(w.downstream)
	assert.NilError(w.t, w.gateway.Add(s))
	time.Sleep(5 * time.Second)
}

// Arguments that are too large are refused before the call, and results before the client receives
// them.
func TestLimits(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		calls := 0
		w.add("big", func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			calls++
			var in struct{ Want int }
			assert.NilError(t, json.Unmarshal(arguments, &in))
			return json.RawMessage(`{"resultType":"complete","content":[],"x":"` +
				strings.Repeat("x", in.Want-45) + `"}`), nil
		})
		w.readable()
		s := w.server("up", w.era)
		s.MaxArguments, s.MaxResult = 20, 200
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			raw, err := c.CallToolRaw(t.Context(), "up__big",
				json.RawMessage(`{"want":200,"x":123}`))
			assert.NilError(t, err)
			assert.Equal(t, len(raw), 200)
			_, err = c.CallToolRaw(t.Context(), "up__big", json.RawMessage(`{"want":201}`))
			assert.ErrorContains(t, err,
				`server "up": tool "big": its result has 201 bytes, and maxResult allows 200`)
			assert.Equal(t, calls, 2)
			_, err = c.CallToolRaw(t.Context(), "up__big", json.RawMessage(`{"want":200,"x":1234}`))
			assert.ErrorContains(t, err,
				`server "up": tool "big": its arguments have 21 bytes, and maxArguments allows 20: nothing was sent`)
			assert.Equal(t, calls, 2)

			_, err = c.GetPrompt(t.Context(), "up__greet",
				map[string]string{"who": "somebody with a long name"})
			assert.ErrorContains(t, err, `server "up": prompt "greet": its arguments have`)
			_, err = c.ReadResource(t.Context(), "mem://all/"+strings.Repeat("x", 100))
			assert.ErrorContains(t, err, `: its result has`)
			_, err = c.ReadResource(t.Context(), "mem://a")
			assert.NilError(t, err)
		})
		w.reopen(gateway.Options{}, w.server("up", w.era))
		w.client(client.Options{Era: era}, func(c *client.Client) {
			_, err := c.CallToolRaw(t.Context(), "up__big", map[string]any{"want": 8 << 20})
			assert.NilError(t, err)
			_, err = c.CallToolRaw(t.Context(), "up__big", map[string]any{"want": 8<<20 + 1})
			assert.ErrorContains(t, err, "maxResult allows 8388608")
			_, err = c.CallToolRaw(t.Context(), "up__big",
				map[string]any{"want": 100, "x": strings.Repeat("x", 8<<20)})
			assert.ErrorContains(t, err, "maxArguments allows 8388608")
		})
	})
}

// before is an interceptor that calls f with a copy of what it passes on.
func before(f func(ctx context.Context, i *dispatch.Invocation) error) dispatch.Interceptor {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			own := *i
			if err := f(ctx, &own); err != nil {
				return nil, err
			}
			return next(ctx, &own)
		}
	}
}

// after is an interceptor that replaces results by what f returns, unless that is nil.
func after(f func(i *dispatch.Invocation,
	result json.RawMessage) (json.RawMessage, error)) dispatch.Interceptor {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			result, err := next(ctx, i)
			if err != nil {
				return result, err
			}
			text, err := f(i, result.JSON())
			if err != nil || text == nil {
				return result, err
			}
			return server.NewResult(text), nil
		}
	}
}

func TestInterceptors(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("echo", func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"resultType":"complete","content":[],"got":` +
				string(arguments) + `}`), nil
		})
		var one dispatch.Interceptor
		pass := func(next dispatch.Handler) dispatch.Handler { return next }
		last := ""
		s := w.server("up", w.era)
		s.MaxArguments, s.MaxResult = 100, 100
		w.reopen(gateway.Options{
			Interceptors: []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
				return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
					assert.Check(t, i.Kind == "tool" && i.Server == "up" && i.Name == "echo" &&
						i.Surface == "mcp" && i.Operation == nil && !i.InFlight)
					return one(next)(ctx, i)
				}
			}, before(func(_ context.Context, i *dispatch.Invocation) error {
				last = string(i.Arguments)
				return nil
			})},
		}, s)
		arguments := func(text string) dispatch.Interceptor {
			return before(func(_ context.Context, i *dispatch.Invocation) error {
				assert.Check(t, string(i.Arguments) == `{"a":1}`)
				i.Arguments, i.Name, i.Server = json.RawMessage(text), "verbatim", "down"
				return nil
			})
		}
		result := func(text string) dispatch.Interceptor {
			return after(func(i *dispatch.Invocation, r json.RawMessage) (json.RawMessage, error) {
				assert.Check(t, i.Name == "echo" && string(i.Arguments) == `{"a":1}`)
				assert.Check(t, strings.HasSuffix(string(r), `"got":{"a":1}}`))
				return json.RawMessage(text), nil
			})
		}
		answer := func(r dispatch.Result, err error) dispatch.Interceptor {
			return func(dispatch.Handler) dispatch.Handler {
				return func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
					return r, err
				}
			}
		}
		fail := errors.New("not on Sundays")
		failAfter := after(func(*dispatch.Invocation, json.RawMessage) (json.RawMessage, error) {
			return nil, fail
		})
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for _, tt := range []struct {
				interceptor dispatch.Interceptor
				want, err   string
			}{
				{pass, `{"resultType":"complete","content":[],"got":{"a":1}}`, ""},
				{arguments(`{"b":2}`), `{"resultType":"complete","content":[],"got":{"b":2}}`, ""},
				{result(`{"resultType":"complete","content":[]}`),
					`{"resultType":"complete","content":[]}`, ""},
				{answer(server.NewResult([]byte(`{"resultType":"complete","x":1,"content":[]}`)), nil),
					`{"resultType":"complete","x":1,"content":[]}`, ""},
				{answer(nil, fail), "",
					`server "up": tool "echo": refused before the call: not on Sundays`},
				{failAfter, "", `server "up": tool "echo": its result is refused: not on Sundays`},
				{arguments(`[1]`), "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{arguments(``), "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{result(`{`), "",
					`its result is refused: the interceptor left a value that is not a JSON object`},
				{answer(nil, nil), "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{answer(dispatch.Envelope{Data: []byte(`{}`)}, nil), "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{arguments(`{"x":"` + strings.Repeat("x", 100) + `"}`), "",
					`maxArguments allows 100`},
				{result(`{"x":"` + strings.Repeat("x", 100) + `"}`), "", `maxResult allows 100`},
			} {
				one = tt.interceptor
				raw, err := c.CallToolRaw(t.Context(), "up__echo", json.RawMessage(`{"a":1}`))
				if tt.err != "" {
					assert.ErrorContains(t, err, tt.err)
					continue
				}
				assert.NilError(t, err)
				assert.Equal(t, string(raw), tt.want)
			}
			one = before(func(context.Context, *dispatch.Invocation) error { panic("oops") })
			_, err := c.CallToolRaw(t.Context(), "up__echo", nil)
			assert.Assert(t, err != nil, "a broken interceptor lets nothing through")
			one = arguments(`{"b":2}`)
			_, err = c.CallToolRaw(t.Context(), "up__echo", json.RawMessage(`{"a":1}`))
			assert.NilError(t, err)
			assert.Equal(t, last, `{"b":2}`, "the next one sees what the first has made of it")
		})
	})
}

// An interceptor sees the errors of servers and may wrap them, and it may call again. Its context
// is that of the call.
func TestInterceptorsOfErrors(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		calls := 0
		w.add("flaky", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			if calls++; calls < 3 {
				return nil, rpc.Errorf(4242, "busy")
			}
			return text("done"), nil
		})
		w.add("hang", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		again := true
		w.reopen(gateway.Options{Interceptors: []dispatch.Interceptor{
			func(next dispatch.Handler) dispatch.Handler {
				return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					result, err := next(ctx, i)
					for e, ok := errors.AsType[*rpc.Error](err); again && ok && e.Code == 4242; {
						result, err = next(ctx, i)
						e, ok = errors.AsType[*rpc.Error](err)
					}
					if err != nil {
						err = fmt.Errorf("%s: %w", i.Name, err)
					}
					return result, err
				}
			}}}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "up__flaky", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "done")
			calls, again = 0, false
			_, err = c.CallTool(t.Context(), "up__flaky", nil)
			assert.ErrorContains(t, err, "busy")
			assert.Equal(t, calls, 1)
			_, err = c.CallTool(t.Context(), "up__hang", nil)
			assert.Assert(t, err != nil && t.Context().Err() == nil)
		})
	})
}

// The context of an interceptor ends when the client cancels the call.
func TestInterceptorIsCancelled(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.reopen(gateway.Options{Interceptors: []dispatch.Interceptor{
			before(func(ctx context.Context, _ *dispatch.Invocation) error {
				<-ctx.Done()
				return ctx.Err()
			})}}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := c.CallToolRaw(ctx, "up__verbatim", nil)
			assert.Assert(t, errors.Is(err, context.DeadlineExceeded))
		})
	})
}

// A question is an error. Interceptors run for each round of a call; a modern server gets the
// arguments again, and a call of a legacy server is in flight.
func TestInterceptorsOfQuestions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("ask", func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			answer, err := server.Elicit(ctx, "k",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"a":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			return text("%s %s", arguments, answer.Content), nil
		})
		sent, resumed, results := 0, 0, 0
		w.reopen(gateway.Options{Interceptors: []dispatch.Interceptor{
			before(func(_ context.Context, i *dispatch.Invocation) error {
				assert.Check(t, string(i.Arguments) == `{}`)
				if i.InFlight {
					resumed++
					i.Arguments = json.RawMessage(`{"ignored":true}`)
					return nil
				}
				sent++
				i.Arguments = json.RawMessage(`{"new":true}`)
				return nil
			}),
			after(func(*dispatch.Invocation, json.RawMessage) (json.RawMessage, error) {
				results++
				return nil, nil
			}),
		}}, w.server("up", w.era))
		o := client.Options{Era: era,
			OnElicit: mcptest.Answers[mcp.ElicitParams](t, &mcp.ElicitResult{
				Action: mcp.ElicitAccept, Content: []byte(`{"a":"b"}`)})}
		w.client(o, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "up__ask", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, `{"new":true} {"a":"b"}`)
		})
		assert.Equal(t, sent, map[mcp.Era]int{mcp.Modern: 2, mcp.Legacy: 1}[w.era])
		assert.Equal(t, resumed, map[mcp.Era]int{mcp.Modern: 0, mcp.Legacy: 1}[w.era])
		assert.Equal(t, results, 1)
	})
}

// An interceptor that refuses a call because of a rate chooses the whole error. It learns whether
// the call was sent: not if a limit or a later interceptor refuses it, or its result is cached.
func TestInterceptorOfRates(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.add("tool", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return text("done"), nil
		})
		server.Must(w.up.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "prompt"},
			Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			}}))
		refuse, sent := true, false
		limit := func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
				if refuse {
					return nil, dispatch.Errorf(dispatch.TooManyRequests, "in 3 s").
						With(map[string]int{"retryAfterMs": 3000})
				}
				var flag atomic.Bool
				result, err := next(context.WithValue(ctx, contextkey.Sent{}, &flag), i)
				sent = flag.Load()
				return result, err
			}
		}
		deny := func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
				if string(i.Arguments) == `{"deny":1}` {
					return nil, errors.New("denied")
				}
				return next(ctx, i)
			}
		}
		d := &auditWriter{room: -1}
		up := w.server("up", w.era)
		up.MaxArguments = 20
		w.reopen(gateway.Options{Audit: d, Interceptors: []dispatch.Interceptor{limit, deny}}, up)
		w.client(client.Options{}, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "up__tool", nil)
			assert.NilError(t, err)
			assert.Assert(t, result.IsError)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "in 3 s")
			_, err = c.GetPrompt(t.Context(), "up__prompt", nil)
			e, ok := errors.AsType[*rpc.Error](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data),
				`-31999 in 3 s {"retryAfterMs":3000}`)
			refuse = false
			for arguments, want := range map[string]bool{`{}`: true, `{"deny":1}`: false,
				`{"long":"0123456789012345"}`: false} {
				sent = false
				_, _ = c.CallTool(t.Context(), "up__tool", json.RawMessage(arguments))
				assert.Equal(t, sent, want, arguments)
			}
			_, err = c.GetPrompt(t.Context(), "up__prompt", nil)
			assert.NilError(t, err)
			assert.Assert(t, sent)
		})
		log := strings.Join(d.lines(), "\n")
		assert.Equal(t, strings.Count(log, `"outcome":"refused","refused_by":"rate"`), 2, log)
	})
}
