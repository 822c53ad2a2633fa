package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Observers get the events of legacy clients in order, and no events of modern clients.
func TestOnClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := made(quiet)
		var events []string
		record := func(name string) func(*server.Conn, server.ClientEvent) {
			names := map[server.ClientEvent]string{server.ClientReady: "ready",
				server.ClientRoots: "roots", server.ClientLevel: "level", server.ClientGone: "gone"}
			return func(c *server.Conn, e server.ClientEvent) {
				events = append(events,
					strings.TrimSpace(fmt.Sprint(name, names[e], " ", c.LogLevel())))
			}
		}
		took := func() string {
			synctest.Wait()
			defer func() { events = nil }()
			return strings.Join(events, ", ")
		}
		stop := s.Integration().OnClientEvent(record(""))
		modern := speak(t, s, newest, `{"roots":{}}`)
		modern.request("tools/list", `{}`)
		modern.write(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		assert.Equal(t, took(), "")

		k := speak(t, s, "2025-11-25", `{"roots":{"listChanged":true}}`)
		assert.Equal(t, took(), "ready")
		k.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		assert.Equal(t, took(), "", "it was")
		k.write(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		assert.Equal(t, took(), "roots")
		k.request("logging/setLevel", `{"level":"error"}`)
		assert.Equal(t, took(), "level error")
		other := s.Integration().OnClientEvent(record("late "))
		assert.Equal(t, took(), "late ready error")
		stop()
		modern.stream.Close()
		k.stream.Close()
		assert.Equal(t, took(), "late gone error")
		other()
	})
}

// Outside of requests, the server can ask legacy clients for their roots, if they declare roots,
// and can send them log messages, if they want them.
func TestUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := made(quiet)
		conns := make(chan *server.Conn, 1)
		defer s.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			if e == server.ClientReady {
				conns <- c
			}
		})()
		for capabilities, want := range map[string]string{`{}`: "[]",
			`{"roots":{}}`: "[{file:///a  map[] map[]}]"} {
			k := speak(t, s, "2025-11-25", capabilities)
			c := <-conns
			go func() {
				if capabilities == `{}` {
					return
				}
				asked := k.next()
				assert.Check(t, strings.Contains(asked.raw, `"method":"roots/list"`))
				k.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) +
					`,"result":{"roots":[{"uri":"file:///a"}]}}`)
			}()
			roots, err := c.Roots(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, fmt.Sprint(roots), want)

			message := mcp.LoggingMessageParams{Level: mcp.LevelWarning, Data: json.RawMessage(`1`)}
			assert.NilError(t, c.Log(t.Context(), message))
			k.request("logging/setLevel", `{"level":"error"}`)
			assert.NilError(t, c.Log(t.Context(), message))
			message.Level = mcp.LevelError
			go func() { assert.Check(t, c.Log(t.Context(), message)) }()
			assert.Equal(t, k.next().raw,
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}`)
			k.stream.Close()
			<-c.Context().Done()
			assert.Assert(t, c.Log(t.Context(), message) != nil)
		}
	})
}

// A greeting is a stream on which the client's handshake arrives before the server reads.
type greeting struct {
	io.Reader
	frames chan string
	closed chan struct{}
}

func (g *greeting) Read(p []byte) (int, error) {
	if n, err := g.Reader.Read(p); err == nil {
		return n, nil
	}
	<-g.closed
	return 0, io.EOF
}

func (g *greeting) Write(p []byte) (int, error) {
	g.frames <- string(p)
	return len(p), nil
}

func (g *greeting) Close() error { return nil }

// Messages outside of requests reach a client as soon as its ClientReady has been reported, however
// early the client sent its handshake.
func TestLinkOfReadyClient(t *testing.T) {
	s := made(quiet)
	defer s.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
		if e == server.ClientReady {
			_, _ = c.Roots(t.Context())
		}
	})()
	for range 2000 {
		g := &greeting{strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
			`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}` +
			"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"),
			make(chan string, 10), make(chan struct{})}
		served := make(chan error)
		go func() { served <- s.Serve(t.Context(), g) }()
		for written := ""; !strings.Contains(written, "roots/list"); {
			select {
			case frame := <-g.frames:
				written += frame
			case <-time.After(time.Minute):
				t.Fatal("the server did not ask for roots, but sent", written)
			}
		}
		close(g.closed)
		assert.NilError(t, <-served)
	}
}

// A session belongs to a connection or, without connections, to a principal.
func TestSession(t *testing.T) {
	s := made(quiet)
	a, b := s.Integration().NewConn(t.Context(), server.ConnOptions{Principal: "ada"}),
		s.Integration().NewConn(t.Context(), server.ConnOptions{Principal: "ada"})
	defer a.Close()
	defer b.Close()
	seen := map[string]bool{}
	for _, c := range []*server.Conn{a, b, s.Integration().Stateless("ada", mcp.Latest),
		s.Integration().Stateless("", mcp.Latest), s.Integration().Stateless("bob", mcp.Latest)} {
		assert.Assert(t, !seen[c.Session()] && c.Session() != "")
		seen[c.Session()] = true
		assert.Equal(t, c.Session(), c.Session())
	}
	assert.Equal(t, s.Integration().Stateless("ada", mcp.Latest).Session(),
		s.Integration().Stateless("ada", mcp.Latest).Session())
	assert.Assert(t, server.ConnFrom(context.Background()) == nil)
}
