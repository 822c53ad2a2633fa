package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestCallTool(t *testing.T) {
	const raw = `{"resultType":"complete", "content":[{"type":"text","text":"mild"},{"type":"later","x":1}],"structuredContent":{"t":9007199254740993},"new":[1.50]}`
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		s.serve(map[string]string{"tools/call": raw})
	})

	result, err := c.CallTool(t.Context(), "weather_get", struct{ City string }{"Oslo"})
	assert.NilError(t, err)
	assert.Assert(t, !result.IsError)
	assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "mild")
	assert.Equal(t, string(result.StructuredContent), `{"t":9007199254740993}`)

	bytes, err := c.CallToolRaw(t.Context(), "weather_get", nil)
	assert.NilError(t, err)
	assert.Equal(t, string(bytes), raw)
}

// The exact bytes of requests.
func TestCallWire(t *testing.T) {
	const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	type query struct {
		City string   `json:"city"`
		Days []string `json:"days"`
	}
	call := func(tool string, args any, opts ...CallOption) func(context.Context, *Client) {
		return func(ctx context.Context, c *Client) {
			_, _ = c.CallToolRaw(ctx, tool, args, opts...)
		}
	}
	raw := func(method string, params any, opts ...CallOption) func(context.Context, *Client) {
		return func(ctx context.Context, c *Client) { _, _ = c.Call(ctx, method, params, opts...) }
	}
	progress := OnProgress(func(mcp.ProgressParams) {})
	for _, test := range []struct {
		name           string
		call           func(context.Context, *Client)
		modern, legacy string
	}{
		{"no arguments", call("t", nil), `{"name":"t","arguments":{},"_meta":{M}}`,
			`{"name":"t","arguments":{}}`},
		{"a struct", call("t", query{City: "<Ålesund>"}),
			`{"name":"t","arguments":{"city":"<Ålesund>","days":null},"_meta":{M}}`,
			`{"name":"t","arguments":{"city":"<Ålesund>","days":null}}`},
		{"a map", call("t", map[string]any{"n": 1}), `{"name":"t","arguments":{"n":1},"_meta":{M}}`,
			`{"name":"t","arguments":{"n":1}}`},
		{"raw JSON over lines", call("t", json.RawMessage("{\n \"n\": 1e3\r\n}")),
			`{"name":"t","arguments":{"n":1e3},"_meta":{M}}`, `{"name":"t","arguments":{"n":1e3}}`},
		{"raw JSON that is nil", call("t", json.RawMessage(nil)),
			`{"name":"t","arguments":{},"_meta":{M}}`, `{"name":"t","arguments":{}}`},
		{"a nil map", call("t", map[string]int(nil)), `{"name":"t","arguments":{},"_meta":{M}}`,
			`{"name":"t","arguments":{}}`},
		{"progress", call("t", nil, progress),
			`{"name":"t","arguments":{},"_meta":{M,"progressToken":1}}`,
			`{"name":"t","arguments":{},"_meta":{"progressToken":1}}`},
		{"_meta", call("t", nil, progress,
			Meta(mcp.Meta{"traceparent": json.RawMessage(`"00-ab"`),
				"progressToken":         json.RawMessage(`5`),
				mcp.MetaProtocolVersion: json.RawMessage(`"x"`)})),
			`{"name":"t","arguments":{},"_meta":{M,"progressToken":1,"traceparent":"00-ab"}}`,
			`{"name":"t","arguments":{},"_meta":{"progressToken":1,"traceparent":"00-ab"}}`},
		{"answers", call("t", nil,
			Answers(mcp.InputAnswers{
				InputResponses: mcp.InputResponses{"who": json.RawMessage(`{"action":"decline"}`)},
				RequestState:   "s\n"})),
			`{"name":"t","arguments":{},"inputResponses":{"who":{"action":"decline"}},"requestState":"s\n","_meta":{M}}`,
			`{"name":"t","arguments":{},"inputResponses":{"who":{"action":"decline"}},"requestState":"s\n"}`},
		{"another method", raw("x/y", map[string]int{"a": 1}), `{"a":1,"_meta":{M}}`, `{"a":1}`},
		{"without params", raw("x/y", nil), `{"_meta":{M}}`, `{}`},
		{"with a _meta of its own",
			raw("x/y", json.RawMessage(`{"_meta":{"b":2,"a":1,"progressToken":7},"z":0}`),
				Meta(mcp.Meta{"b": json.RawMessage(`3`)})),
			`{"z":0,"_meta":{M,"a":1,"b":3}}`, `{"z":0,"_meta":{"a":1,"b":3}}`},
		{"with its own log level",
			raw("x/y", nil, Meta(mcp.Meta{mcp.MetaLogLevel: json.RawMessage(`"debug"`)})),
			`{"_meta":{M,"io.modelcontextprotocol/logLevel":"debug"}}`,
			`{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`},
	} {
		for era, want := range map[string]string{"modern": test.modern, "legacy": test.legacy} {
			t.Run(test.name+" "+era, func(t *testing.T) {
				params := make(chan string, 1)
				c := connect(t, Options{Info: mcp.Implementation{Name: "me", Version: "2"}},
					func(s *scripted) {
						if era == "modern" {
							s.modern()
						} else {
							s.legacy()
						}
						m := s.read()
						params <- string(m.Params)
						s.reply(m, `{}`)
					})
				test.call(t.Context(), c)
				assert.Equal(t, <-params, strings.Replace(want, "M", modernMeta, 1))
			})
		}
	}
}

func TestCallFails(t *testing.T) {
	reply := func(result string) func(*scripted, message) {
		return func(s *scripted, m message) { s.reply(m, result) }
	}
	for _, test := range []struct {
		name   string
		args   any
		script func(s *scripted, m message)
		want   string
		is     error
	}{
		{"an error", nil, func(s *scripted, m message) { s.refuse(m, -32602, "Tool t not found") },
			"Tool t not found (code -32602)", rpc.ErrInvalidParams},
		{"an unknown type of result", nil, reply(`{"resultType":"maybe"}`),
			`a result of the unknown type "maybe"`, rpc.ErrProtocol},
		{"a type that is none", nil, reply(`{"resultType":1}`), `a result of the unknown type 1`,
			rpc.ErrProtocol},
		{"a result that is none", nil, reply(`{"content":7}`),
			`an invalid result: content: want an array, not a number (at byte 11)`,
			rpc.ErrProtocol},
		{"no object", nil, reply(`"fine"`), `its result is not an object: "fine"`, rpc.ErrProtocol},
		{"input is required", nil,
			reply(`{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{}}},"requestState":"abc"}`),
			"the server wants input first (1 requests)", nil},
		{"input is required, wrongly", nil,
			reply(`{"resultType":"input_required","inputRequests":7}`),
			"an invalid input_required result: inputRequests: want an object, not a number (at byte 47)",
			rpc.ErrProtocol},
		{"both result and error", nil, func(s *scripted, m message) {
			s.send(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":""}}`+"\n",
				m.ID)
		}, "rpc: the peer broke the protocol: a response with both a result and an error",
			rpc.ErrProtocol},
		{"arguments that are no object", []int{1}, nil, "arguments: want a JSON object, not [1]",
			nil},
		{"arguments that cannot be encoded", func() {}, nil,
			"arguments: cannot encode func(): json: unsupported type: func()", nil},
		{"arguments that are not JSON", json.RawMessage(`{"a":}`), nil,
			"arguments: invalid JSON at byte 5: '}' cannot start a value", nil},
		{"the server hangs up", nil, func(s *scripted, m message) { s.out.Close() },
			"closed the connection", rpc.ErrClosed},
		{"the server hangs up in the middle", nil, func(s *scripted, m message) {
			s.send(`{"jsonrpc":"2.0","id":%s,"res`, m.ID)
			s.out.Close()
		}, "closed the connection", rpc.ErrClosed},
		{"the answer is too large", nil,
			func(s *scripted, m message) { s.reply(m, `{"pad":"`+pad(100_000)+`"}`) },
			"the connection broke: the server sent a message of 100044 bytes or more, over the limit of 90000 (Options.Limits.MaxFrame)",
			rpc.ErrClosed},
		{"the request is too large", map[string]string{"pad": pad(12 << 20)}, nil,
			"not sent: the request has 12583230 bytes, over the limit of 10354688 (Options.MaxSend)",
			framing.ErrTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Options{Info: mcp.Implementation{Name: "me", Version: "2"},
				Limits: limitFrame(90_000)}.Connect(t.Context(), stream(func(s *scripted) {
				s.modern()
				if m := s.read(); m.line != "" {
					test.script(s, m)
				}
			}))
			assert.NilError(t, err)
			_, err = c.CallTool(t.Context(), "t", test.args)
			assert.Error(t, err, `server "server": tool "t": `+test.want)
			if test.is != nil {
				assert.ErrorIs(t, err, test.is)
			}
			call, ok := errors.AsType[*CallError](err)
			assert.Assert(t, ok)
			assert.Equal(t, call.Method, "tools/call")
			if input, ok := errors.AsType[*InputRequiredError](err); ok {
				assert.Equal(t, input.Result.RequestState, "abc")
				assert.Equal(t, input.Result.InputRequests["who"].Method, "elicitation/create")
			}
			_ = c.Close()
			_ = c.Wait()
		})
	}
}

func TestCallIsRefused(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		if m := s.read(); m.line != "" {
			t.Errorf("sent: %s", m.line)
		}
	})
	bad := json.RawMessage(`{`)
	for want, call := range map[string]func() (json.RawMessage, error){
		`tools/call: a tool's name must not be empty`: func() (json.RawMessage, error) {
			return c.CallToolRaw(t.Context(), "", nil)
		},
		`tool "t": _meta["a"]: invalid JSON at byte 1: expected a member name in quotation marks`: func() (
			json.RawMessage, error) {
			return c.CallToolRaw(t.Context(), "t", nil, Meta(mcp.Meta{"a": bad}))
		},
		`x/y: params: want a JSON object, not "a"`: func() (json.RawMessage,
			error) {
			return c.Call(t.Context(), "x/y", "a")
		},
		`x/y: params: _meta: want an object, not a number (at byte 0)`: func() (json.RawMessage,
			error) {
			return c.Call(t.Context(), "x/y", json.RawMessage(`{"_meta":1}`))
		},
	} {
		_, err := call()
		assert.Check(t, cmp.Error(err, `server "server": `+want))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.CallToolRaw(ended, "t", nil)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = c.CallToolRaw(t.Context(), "t", nil,
		Answers(mcp.InputAnswers{InputResponses: mcp.InputResponses{"a": bad}}))
	assert.ErrorContains(t, err, `server "server": tool "t": answers: `)
}

// The resultType of a legacy result has no meaning.
func TestLegacyResultType(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.legacy()
		s.serve(map[string]string{"tools/call": `{"resultType":"maybe","content":[]}`})
	})
	_, err := c.CallTool(t.Context(), "t", nil)
	assert.NilError(t, err)
}

func TestErrorAfterTheEnd(t *testing.T) {
	c := connect(t, Options{}, (*scripted).modern)
	assert.NilError(t, c.Err())
	assert.NilError(t, c.Close())
	_, err := c.CallTool(t.Context(), "t", nil)
	assert.Error(t, err, `server "server": tool "t": the client is closed`)
	assert.ErrorIs(t, err, rpc.ErrClosed)
	_, lost := errors.AsType[*LostError](err)
	assert.Assert(t, !lost)
	assert.NilError(t, c.Wait())

	c, err = Connect(t.Context(), stream(func(s *scripted) { s.modern(); s.out.Close() }))
	assert.NilError(t, err)
	assert.Error(t, c.Wait(), "closed the connection")
	_, err = c.CallTool(t.Context(), "t", nil)
	assert.Error(t, err, `server "server": tool "t": closed the connection`)
}

// Close ends waiting calls, and sends nothing about them.
func TestCloseDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := make(chan string, 1)
		c, err := Connect(t.Context(),
			stream(func(s *scripted) { s.modern(); s.read(); after <- s.read().line }))
		assert.NilError(t, err)
		failed := make(chan error)
		go func() {
			_, err := c.CallTool(t.Context(), "t", nil)
			failed <- err
		}()
		synctest.Wait()
		go shut(t, c)
		assert.Error(t, <-failed, `server "server": tool "t": the client is closed`)
		assert.Equal(t, <-after, "")
		<-c.Done()
	})
}

func TestTimeout(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		call    []CallOption
		ctx     time.Duration
		script  func(s *scripted, m message)
		want    string
		took    time.Duration
		reason  string
	}{
		{"by default", Options{}, nil, 0, nil,
			"no answer after 5m0s; the server last sent something 5m0s ago", 5 * time.Minute,
			"timed out"},
		{"by option", Options{CallTimeout: time.Minute}, nil, 0, nil,
			"no answer after 1m0s; the server last sent something 1m0s ago", time.Minute,
			"timed out"},
		{"of the call", Options{CallTimeout: time.Hour}, []CallOption{Timeout(time.Second)}, 0, nil,
			"no answer after 1s; the server last sent something 1s ago", time.Second, "timed out"},
		{"while the server logs", Options{}, []CallOption{Timeout(10 * time.Second)}, 0,
			func(s *scripted, m message) {
				time.Sleep(4 * time.Second)
				s.send("still busy\n")
			}, "no answer after 10s; the server last sent something 6s ago", 10 * time.Second,
			"timed out"},
		{"of the context", Options{}, nil, 2 * time.Second, nil,
			"no answer after 2s; the server last sent something 2s ago", 2 * time.Second,
			"cancelled by the client"},
		{"progress extends it", Options{},
			[]CallOption{Timeout(10 * time.Second), OnProgress(func(mcp.ProgressParams) {})}, 0,
			func(s *scripted, m message) {
				for i := range 3 {
					time.Sleep(9 * time.Second)
					s.notify("notifications/progress",
						fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i))
				}
			}, "no answer after 37s; the server last sent something 10s ago", 37 * time.Second,
			"timed out"},
		{"but not for ever", Options{MaxCallTime: 20 * time.Second},
			[]CallOption{Timeout(10 * time.Second), OnProgress(func(mcp.ProgressParams) {})}, 0,
			func(s *scripted, m message) {
				for i := range 3 {
					time.Sleep(9 * time.Second)
					s.notify("notifications/progress",
						fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i))
				}
			}, "no answer after 20s; the server last sent something 2s ago", 20 * time.Second,
			"timed out"},
		{"or for ever, if that is wanted", Options{MaxCallTime: -1},
			[]CallOption{Timeout(time.Hour), OnProgress(func(mcp.ProgressParams) {})}, 0,
			func(s *scripted, m message) {
				for i := range 9 {
					time.Sleep(50 * time.Minute)
					s.notify("notifications/progress",
						fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i))
				}
			}, "no answer after 8h30m0s; the server last sent something 1h0m0s ago",
			510 * time.Minute, "timed out"},
		{"someone else's progress does not extend it", Options{},
			[]CallOption{Timeout(10 * time.Second), OnProgress(func(mcp.ProgressParams) {})}, 0,
			func(s *scripted, m message) {
				time.Sleep(9 * time.Second)
				s.notify("notifications/progress", `{"progressToken":2,"progress":1}`)
				s.notify("notifications/progress", `{"progressToken":"one","progress":1}`)
				s.notify("notifications/progress", `[]`)
			}, "no answer after 10s; the server last sent something 1s ago", 10 * time.Second,
			"timed out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cancelled := make(chan message, 1)
				c, err := test.options.Connect(t.Context(), stream(func(s *scripted) {
					s.modern()
					m := s.read()
					if test.script != nil {
						test.script(s, m)
					}
					cancelled <- s.read()
					s.reply(m, `{"content":[]}`) // too late
				}))
				assert.NilError(t, err)
				ctx, cancel := context.Background(), func() {}
				if test.ctx > 0 {
					ctx, cancel = context.WithTimeout(ctx, test.ctx)
				}
				defer cancel()
				began := time.Now()
				_, err = c.CallTool(ctx, "slow", nil, test.call...)
				assert.Error(t, err, `server "server": tool "slow": `+test.want)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				_, ok := errors.AsType[*TimeoutError](err)
				assert.Assert(t, ok)
				assert.Equal(t, time.Since(began), test.took)

				m := <-cancelled
				assert.Equal(t, m.Method, "notifications/cancelled")
				assert.Equal(t, string(m.Params), `{"requestId":2,"reason":"`+test.reason+`"}`)
				synctest.Wait()
				assert.Equal(t, c.Stats().Late, 1)
				shut(t, c)
			})
		})
	}
}

func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Options{CallTimeout: -1}.Connect(t.Context(), stream(func(s *scripted) {
			s.modern()
			m := s.read()
			time.Sleep(1000 * time.Hour)
			s.reply(m, `{"content":[]}`)
		}))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		shut(t, c)
	})
}

// A server that does not read cannot delay a call beyond its timeout.
func TestTimeoutWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread := make(chan struct{})
		c, err := Connect(t.Context(), stream(func(s *scripted) { s.modern(); <-unread }))
		assert.NilError(t, err)
		failed := make(chan error)
		for range 6 { // one is being written, some are queued, the others wait
			go func() {
				_, err := c.CallTool(t.Context(), "t", map[string]string{"pad": pad(900 << 10)},
					Timeout(3*time.Second))
				failed <- err
			}()
		}
		began := time.Now()
		for range 6 {
			assert.ErrorContains(t, <-failed, "no answer after 3s")
		}
		assert.Equal(t, time.Since(began), 3*time.Second)
		close(unread)
		shut(t, c)
	})
}

func TestCancelWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread := make(chan struct{})
		c, err := Options{CallTimeout: -1}.Connect(t.Context(),
			stream(func(s *scripted) { s.modern(); <-unread }))
		assert.NilError(t, err)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second,
			errors.New("secret plans"))
		defer cancel()
		failed := make(chan error)
		for range 6 {
			go func() {
				_, err := c.CallTool(ctx, "t", map[string]string{"pad": pad(900 << 10)})
				failed <- err
			}()
		}
		for range 6 {
			assert.Error(t, <-failed,
				`server "server": tool "t": no answer after 1s; the server last sent something 1s ago`)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		_, err = c.CallTool(ctx, "t", nil)
		assert.Error(t, err, `server "server": tool "t": context canceled after 0s`)
		close(unread)
		shut(t, c)
	})
}

// A server that ignores a cancellation, such as those of the official SDK, sends messages that
// nobody expects.
func TestCancelIsNotHeeded(t *testing.T) {
	for name, handshake := range map[string]func(*scripted){"modern": (*scripted).modern,
		"legacy": (*scripted).legacy} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := Connect(t.Context(), stream(func(s *scripted) {
					handshake(s)
					slow := s.read()
					s.progress("1", 1)
					s.read() // the cancellation
					s.progress("1", 4)
					s.reply(slow, `{"content":[]}`)
					quick := s.read()
					s.progress("1", 1)
					s.reply(quick, `{"content":[{"type":"text","text":"quick"}]}`)
				}))
				assert.NilError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				heard := 0
				_, err = c.CallTool(ctx, "slow", nil, OnProgress(func(mcp.ProgressParams) {
					heard++
					cancel()
				}))
				assert.ErrorIs(t, err, context.Canceled)
				r, err := c.CallTool(t.Context(), "quick", nil,
					OnProgress(func(mcp.ProgressParams) { t.Error("that is the other call's") }))
				assert.NilError(t, err)
				assert.Equal(t, r.Content[0].(*mcp.TextContent).Text, "quick")
				assert.Equal(t, heard, 1)
				shut(t, c)
			})
		})
	}
}

// A call that detects late that the connection is lost reports that, even if the client was closed
// meanwhile.
func TestLostStaysLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Connect(t.Context(), stream(func(s *scripted) {
			s.modern()
			s.read()
			s.progress("1", 1)
			_ = s.out.Close()
		}))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "slow", nil, OnProgress(func(mcp.ProgressParams) {
			<-c.Done()
			assert.NilError(t, c.Close())
		}))
		assert.Error(t, err, `server "server": tool "slow": closed the connection`)
		assert.Equal(t, c.Wait().Error(), "closed the connection")
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan message, 1)
		c, err := Connect(t.Context(),
			stream(func(s *scripted) { s.modern(); s.read(); cancelled <- s.read() }))
		assert.NilError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(errors.New("secret plans")) })
		_, err = c.CallTool(ctx, "slow", nil)
		assert.Error(t, err, `server "server": tool "slow": context canceled after 1.5s`)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, string((<-cancelled).Params),
			`{"requestId":2,"reason":"cancelled by the client"}`)
		shut(t, c)
	})
}
