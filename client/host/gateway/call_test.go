package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
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

func TestInterceptors(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("echo", func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"resultType":"complete","content":[],"got":` +
				string(arguments) + `}`), nil
		})
		var before, after func(e *gateway.Event) error
		pass := func(*gateway.Event) error { return nil }
		last := ""
		s := w.server("up", w.era)
		s.MaxArguments, s.MaxResult = 100, 100
		w.reopen(gateway.Options{
			Before: []gateway.Interceptor{func(_ context.Context, e *gateway.Event) error {
				return before(e)
			}, func(_ context.Context, e *gateway.Event) error {
				assert.Check(t, e.Server == "up" && e.Tool == "echo" &&
					e.Result == nil, "only the arguments are the first one's to change")
				last = string(e.Arguments)
				return nil
			}},
			After: []gateway.Interceptor{func(_ context.Context, e *gateway.Event) error {
				return after(e)
			}},
		}, s)
		arguments := func(text string) func(e *gateway.Event) error {
			return func(e *gateway.Event) error {
				assert.Check(t, e.Server == "up" && e.Tool == "echo" && e.Result == nil &&
					string(e.Arguments) == `{"a":1}`)
				e.Arguments, e.Tool, e.Server, e.Result = json.RawMessage(text), "verbatim", "down",
					json.RawMessage(`{}`)
				return nil
			}
		}
		result := func(text string) func(e *gateway.Event) error {
			return func(e *gateway.Event) error {
				assert.Check(t, e.Server == "up" && e.Tool == "echo" &&
					string(e.Arguments) == `{"a":1}`)
				assert.Check(t, strings.HasSuffix(string(e.Result), `"got":{"a":1}}`))
				e.Result, e.Arguments = json.RawMessage(text), nil
				return nil
			}
		}
		fail := func(*gateway.Event) error { return errors.New("not on Sundays") }
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for _, tt := range []struct {
				before, after func(e *gateway.Event) error
				want, err     string
			}{
				{pass, pass, `{"resultType":"complete","content":[],"got":{"a":1}}`, ""},
				{arguments(`{"b":2}`), pass, `{"resultType":"complete","content":[],"got":{"b":2}}`,
					""},
				{pass, result(`{"resultType":"complete","content":[]}`),
					`{"resultType":"complete","content":[]}`, ""},
				{fail, pass, "",
					`server "up": tool "echo": refused before the call: not on Sundays`},
				{pass, fail, "", `server "up": tool "echo": its result is refused: not on Sundays`},
				{arguments(`[1]`), pass, "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{arguments(``), pass, "",
					`refused before the call: the interceptor left a value that is not a JSON object`},
				{pass, result(`{`), "",
					`its result is refused: the interceptor left a value that is not a JSON object`},
				{arguments(`{"x":"` + strings.Repeat("x", 100) + `"}`), pass, "",
					`maxArguments allows 100`},
				{pass, result(`{"x":"` + strings.Repeat("x", 100) + `"}`), "",
					`maxResult allows 100`},
			} {
				before, after = tt.before, tt.after
				raw, err := c.CallToolRaw(t.Context(), "up__echo", json.RawMessage(`{"a":1}`))
				if tt.err != "" {
					assert.ErrorContains(t, err, tt.err)
					continue
				}
				assert.NilError(t, err)
				assert.Equal(t, string(raw), tt.want)
			}
			before, after = func(*gateway.Event) error { panic("oops") }, pass
			_, err := c.CallToolRaw(t.Context(), "up__echo", nil)
			assert.Assert(t, err != nil, "a broken interceptor lets nothing through")
			before = arguments(`{"b":2}`)
			_, err = c.CallToolRaw(t.Context(), "up__echo", json.RawMessage(`{"a":1}`))
			assert.NilError(t, err)
			assert.Equal(t, last, `{"b":2}`, "the next one sees what the first has made of it")
		})
	})
}

// The context of an interceptor ends when the client cancels the call.
func TestInterceptorIsCancelled(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.reopen(gateway.Options{
			Before: []gateway.Interceptor{func(ctx context.Context, _ *gateway.Event) error {
				<-ctx.Done()
				return ctx.Err()
			}}}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := c.CallToolRaw(ctx, "up__verbatim", nil)
			assert.Assert(t, errors.Is(err, context.DeadlineExceeded))
		})
	})
}

// A question is not a result. Interceptors run for each round of a modern server's call, whose
// arguments are sent again, but only for the first round of a legacy server's call.
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
		before, after := 0, 0
		w.reopen(gateway.Options{
			Before: []gateway.Interceptor{func(_ context.Context, e *gateway.Event) error {
				before++
				assert.Check(t, string(e.Arguments) == `{}`)
				e.Arguments = json.RawMessage(`{"new":true}`)
				return nil
			}},
			After: []gateway.Interceptor{func(_ context.Context, e *gateway.Event) error {
				after++
				return nil
			}},
		}, w.server("up", w.era))
		o := client.Options{Era: era,
			OnElicit: mcptest.Answers[mcp.ElicitParams](t, &mcp.ElicitResult{
				Action: mcp.ElicitAccept, Content: []byte(`{"a":"b"}`)})}
		w.client(o, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "up__ask", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, `{"new":true} {"a":"b"}`)
		})
		assert.Equal(t, before, map[mcp.Era]int{mcp.Modern: 2, mcp.Legacy: 1}[w.era])
		assert.Equal(t, after, 1)
	})
}
