package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestConnect(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		script  func(s *scripted)
		want    mcp.Revision
		took    time.Duration
	}{
		{"modern", Options{}, (*scripted).modern, mcp.Rev20260728, 0},
		{"legacy, that knows no discover", Options{}, (*scripted).legacy, mcp.Rev20251125, 0},
		{"legacy, that chooses an older revision", Options{}, func(s *scripted) {
			s.refuse(s.read(), -32602, "Invalid params")
			s.reply(s.read(),
				`{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"0"}}`)
		}, mcp.Rev20241105, 0},
		{"legacy, that ignores what comes before initialize", Options{}, func(s *scripted) {
			s.read()
			s.reply(s.read(), initialized)
		}, mcp.Rev20251125, 5 * time.Second},
		{"the same, but it prints a banner", Options{}, func(s *scripted) {
			s.send("Server running on stdio\n")
			s.read()
			s.reply(s.read(), initialized)
		}, mcp.Rev20251125, time.Second},
		{"legacy, that answers the probe with an error without an id", Options{},
			func(s *scripted) {
				s.read()
				s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Server not initialized"}}` +
					"\n")
				s.reply(s.read(), initialized)
			}, mcp.Rev20251125, time.Second},
		{"legacy, slow to start, that then answers both", Options{}, func(s *scripted) {
			time.Sleep(11 * time.Second)
			s.legacy()
		}, mcp.Rev20251125, 11 * time.Second},
		{"modern, slow to start, that then answers both", Options{}, func(s *scripted) {
			time.Sleep(11 * time.Second)
			s.modern()
			s.refuse(s.read(), -32601, "Method not found")
		}, mcp.Rev20260728, 11 * time.Second},
		{"modern, slow to start, that refuses initialize first", Options{}, func(s *scripted) {
			time.Sleep(11 * time.Second)
			probe := s.read()
			s.refuse(s.read(), -32601, "Method not found")
			time.Sleep(4 * time.Second)
			s.reply(probe, discovered)
		}, mcp.Rev20260728, 15 * time.Second},
		{"modern, that says so by refusing", Options{}, func(s *scripted) {
			s.unsupported(s.read(), "2025-11-25")
			s.reply(s.read(), initialized)
		}, mcp.Rev20251125, 0},
		{"modern, one of several that are not all of the same age", Options{}, func(s *scripted) {
			s.unsupported(s.read(), "2026-07-28")
			s.modern()
		}, mcp.Rev20260728, 0},
		{"slow, for a patient client", Options{StartTimeout: -1, Era: mcp.Modern},
			func(s *scripted) {
				time.Sleep(time.Hour)
				s.modern()
			}, mcp.Rev20260728, time.Hour},
		{"legacy is wanted", Options{Era: mcp.Legacy},
			func(s *scripted) { s.reply(s.read(), initialized) }, mcp.Rev20251125, 0},
		{"an old revision is wanted", Options{Revision: mcp.Rev20250618}, func(s *scripted) {
			var p struct{ ProtocolVersion string }
			m := s.read()
			_ = json.Unmarshal(m.Params, &p)
			s.reply(m, `{"protocolVersion":"`+p.ProtocolVersion+
				`","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		}, mcp.Rev20250618, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c, err := test.options.Connect(t.Context(),
					stream(func(s *scripted) { test.script(s); s.hold() }))
				assert.NilError(t, err)
				assert.Equal(t, c.Revision(), test.want)
				assert.Equal(t, c.Era(), mcp.EraOf(test.want))
				assert.Equal(t, time.Since(began), test.took)
				assert.Equal(t, c.Handshake().Took, test.took)
				shut(t, c)
			})
		})
	}
}

func TestConnectFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		script  func(s *scripted)
		want    string
		is      error
		took    time.Duration
	}{
		{"says nothing", Options{}, (*scripted).hold,
			`server "server": no answer to server/discover and initialize after 1m0s; the server has sent nothing at all`,
			context.DeadlineExceeded, time.Minute},
		{"says nothing, for a modern client", Options{Era: mcp.Modern, StartTimeout: time.Second},
			(*scripted).hold,
			`server "server": no answer to server/discover after 1s; the server has sent nothing at all`,
			context.DeadlineExceeded, time.Second},
		{"says nothing of interest", Options{StartTimeout: 10 * time.Second},
			func(s *scripted) { s.send("ready\n"); s.hold() },
			`server "server": no answer to server/discover and initialize after 10s; the server last sent something 10s ago; it wrote a line to stdout that is not a message: "ready"`,
			context.DeadlineExceeded, 10 * time.Second},
		{"hangs up", Options{}, func(s *scripted) { s.read(); s.out.Close() },
			`server "server": closed the connection before answering`, io.EOF, 0},
		{"refuses the handshake", Options{}, func(s *scripted) {
			s.refuse(s.read(), -32601, "no")
			s.refuse(s.read(), -32603, "out of order")
			s.hold()
		},
			`server "server": out of order (code -32603)`, rpc.ErrInternal, 0},
		{"is legacy, for a modern client", Options{Era: mcp.Modern},
			func(s *scripted) { s.refuse(s.read(), -32601, "no") },
			`server "server": the server does not speak the modern era: no (code -32601)`,
			rpc.ErrMethodNotFound, 0},
		{"refuses the handshake and leaves the probe", Options{}, func(s *scripted) {
			s.read()
			s.refuse(s.read(), -32603, "out of order")
			s.hold()
		},
			`server "server": out of order (code -32603)`, rpc.ErrInternal, 10 * time.Second},
		{"speaks an unknown revision", Options{Name: "x"}, func(s *scripted) {
			s.refuse(s.read(), -32601, "no")
			s.reply(s.read(),
				`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
			s.hold()
		}, `server "x": the server answers initialize with revision "1999-01-01"; this client speaks ["2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"] there`,
			rpc.ErrProtocol, 0},
		{"refuses the revision that it offers", Options{}, func(s *scripted) {
			for m := s.read(); m.line != ""; m = s.read() {
				s.unsupported(m, "2026-07-28")
			}
		}, `server "server": the server refuses revision 2026-07-28 and offers 2026-07-28`,
			rpc.ErrProtocol, 0},
		{"sends too much", Options{Limits: limitFrame(1000)}, func(s *scripted) {
			s.reply(s.read(), `{"pad":"`+pad(2000)+`"}`)
			s.hold()
		}, `server "server": the connection broke before answering: the server sent a message of 2044 bytes or more, over the limit of 1000 (Options.Limits.MaxFrame)`,
			rpc.ErrClosed, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := test.options.Connect(t.Context(), stream(test.script))
				assert.Error(t, err, test.want)
				assert.ErrorIs(t, err, test.is)
				start, ok := errors.AsType[*StartError](err)
				assert.Assert(t, ok)
				if test.name == "hangs up" {
					assert.Equal(t, start.Hint,
						"an old server may hang up on a probe that it does not know: try the legacy era")
				}
				assert.Equal(t, time.Since(began), test.took)
			})
		})
	}
}

func TestConnectIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(3*time.Second, cancel)
		_, err := Connect(ctx, stream((*scripted).hold))
		assert.Error(t, err, `server "server": context canceled`)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestConnectOptions(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{Revision: "2099-01-01"},
			`server "server": Options.Revision "2099-01-01" is not known; this client speaks ["2026-07-28" "2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"]`},
		{Options{Revision: mcp.Rev20250618, Era: mcp.Modern},
			`server "server": Options.Revision 2025-06-18 is not of the modern era that Options.Era wants`},
		{Options{Info: mcp.Implementation{Name: "x", Extra: mcp.Extra{"name": nil}}},
			`server "server": Options.Info: cannot encode mcp.Implementation: Extra has "name", for which there is a field`},
	} {
		closed := &closeCounter{}
		_, err := test.options.Connect(t.Context(), Stream(closed))
		assert.Error(t, err, test.want)
		assert.Equal(t, closed.n, 1)
	}
}

type closeCounter struct {
	io.ReadWriter
	n int
}

func (c *closeCounter) Close() error { c.n++; return nil }

// The exact bytes of the handshake.
func TestHandshakeWire(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	o := Options{Info: mcp.Implementation{Name: "me", Version: "2"},
		Roots: []mcp.Root{{URI: "file:///r"}}}
	var lines []string
	ready, ended := make(chan struct{}), make(chan struct{})
	c := connect(t, o, func(s *scripted) {
		s.log = func(line string) { lines = append(lines, line) }
		s.legacy()
		close(ready)
		s.hold()
		close(ended)
	})
	<-ready // Close waits only a moment for the server to read the last line
	assert.NilError(t, c.Close())
	<-ended
	assert.DeepEqual(t, lines, []string{
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}` + "\n",
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"me","version":"2"}}}` +
			"\n",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
	})
}

func TestAccessors(t *testing.T) {
	for _, script := range []func(*scripted){(*scripted).modern, (*scripted).legacy} {
		c := connect(t, Options{}, func(s *scripted) { script(s); s.hold() })
		assert.Equal(t, c.ServerInfo().Name, "scripted")
		assert.Equal(t, c.Instructions(), "Ask nicely.")
		assert.Assert(t, c.Capabilities().Tools.ListChanged)
		assert.Equal(t, c.StderrTail(), "")
		assert.Assert(t, c.Process() == nil)
		want := map[mcp.Era]Handshake{
			mcp.Modern: {Method: "server/discover", Result: json.RawMessage(discovered)},
			mcp.Legacy: {Method: "initialize", Result: json.RawMessage(initialized)},
		}[c.Era()]
		got := c.Handshake()
		got.Took = 0
		assert.DeepEqual(t, got, want)
	}
}
