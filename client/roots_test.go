package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// OnRoots is called for each request, and a legacy server is notified of changes.
func TestOnRoots(t *testing.T) {
	var answer struct {
		roots []mcp.Root
		err   error
	}
	o := Options{Logger: slog.New(slog.DiscardHandler),
		Roots: []mcp.Root{{URI: "file:///not/these"}},
		OnRoots: func(context.Context) ([]mcp.Root, error) {
			if answer.err == errPanic {
				panic("oops")
			}
			return answer.roots, answer.err
		}}
	lines, next := make(chan string, 1), make(chan struct{})
	c := connect(t, o, func(s *scripted) {
		s.refuse(s.read(), -32601, "Method not found")
		initialize := s.read()
		lines <- initialize.line
		s.reply(initialize, initialized)
		s.read()
		lines <- s.read().line
		for range next {
			s.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}` + "\n")
			lines <- s.read().line
		}
	})
	assert.Assert(t, strings.Contains(<-lines, `"capabilities":{"roots":{"listChanged":true}}`))
	assert.NilError(t, c.RootsChanged(t.Context()))
	assert.Equal(t, <-lines, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	for _, tt := range []struct {
		roots []mcp.Root
		err   error
		want  string
	}{
		{nil, nil, `"result":{"roots":[]}`},
		{[]mcp.Root{{URI: "file:///a"}}, nil, `"result":{"roots":[{"uri":"file:///a"}]}`},
		{nil, errors.New("secret"),
			`"error":{"code":-32603,"message":"Internal error: the client could not answer"}`},
		{nil, rpc.Errorf(-1, "ask later"), `"error":{"code":-1,"message":"ask later"}`},
		{nil, errPanic, `"error":{"code":-32603,"message":"Internal error: the client could not answer"}`},
	} {
		answer.roots, answer.err = tt.roots, tt.err
		next <- struct{}{}
		assert.Equal(t, <-lines, `{"jsonrpc":"2.0","id":1,`+tt.want+`}`)
	}
	close(next)
	shut(t, c)
	assert.Assert(t, errors.Is(c.RootsChanged(t.Context()), rpc.ErrClosed))
}

var errPanic = errors.New("panic")

// A modern server gets no notifications of changes, and no declaration of them.
func TestOnRootsOfModernServer(t *testing.T) {
	lines := make(chan string, 10)
	c := connect(t, Options{OnRoots: func(context.Context) ([]mcp.Root, error) { return nil, nil }},
		func(s *scripted) {
			probe := s.read()
			lines <- probe.line
			s.reply(probe, discovered)
			lines <- s.read().line
		})
	assert.Assert(t, strings.Contains(<-lines, `"roots":{},`))
	assert.NilError(t, c.RootsChanged(t.Context()))
	go c.Call(t.Context(), "x/y", nil)
	assert.Assert(t, strings.Contains(<-lines, `"method":"x/y"`))
}

// A server also gets no notification if the client has declared that its roots do not change.
func TestRootsThatStay(t *testing.T) {
	lines := make(chan string, 1)
	c := connect(t, Options{Roots: []mcp.Root{{URI: "file:///a"}}}, func(s *scripted) {
		s.legacy()
		lines <- s.read().line
	})
	assert.NilError(t, c.RootsChanged(t.Context()))
	go c.Call(t.Context(), "x/y", nil)
	assert.Assert(t, strings.Contains(<-lines, `"method":"x/y"`))
}

// OnRawLog is called when a message arrives: before the response that follows.
func TestOnRawLog(t *testing.T) {
	var seen []string
	logs := make(chan string, 1)
	o := Options{OnRawLog: func(params json.RawMessage) { seen = append(seen, string(params)) },
		OnLog: func(m mcp.LoggingMessageParams) { logs <- m.Logger }}
	c := connect(t, o, func(s *scripted) {
		s.legacy()
		m := s.read()
		s.notify("notifications/message", `{"level":"info","logger":"a","data":1}`)
		s.reply(m, `{}`)
	})
	_, err := c.Call(t.Context(), "x/y", nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, seen, []string{`{"level":"info","logger":"a","data":1}`})
	assert.Equal(t, <-logs, "a")
}
