package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Each ping is a request to the server, in both eras.
func TestPing(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		var pings int
		var failure error
		o := server.Options{Middleware: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				if era == mcp.Legacy && req.Method == "ping" ||
					era == mcp.Modern && req.Method == "server/discover" {
					pings++
					if failure != nil {
						return nil, failure
					}
				}
				return next(ctx, req)
			}
		}}}
		c := connectTo(t, newServer(o), Options{Era: era})
		before := pings
		assert.NilError(t, c.Ping(t.Context()))
		assert.NilError(t, c.Ping(t.Context()))
		assert.Equal(t, pings, before+2)
		failure = rpc.Errorf(-31000, "no")
		assert.ErrorContains(t, c.Ping(t.Context()), "no")
	})
}

// All returns a list as a slice, and what was yielded before an error beside the error.
func TestAll(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		s := newServer(server.Options{PageSize: 2})
		for i := range 5 {
			addTool(t, s, fmt.Sprint("t", i), func(context.Context) (string, error) { return "", nil })
		}
		c := connectTo(t, s, Options{Era: era})
		tools, err := All(c.Tools(t.Context()))
		assert.NilError(t, err)
		assert.Equal(t, len(tools), 5)
		_, err = All(c.Prompts(t.Context()))
		assert.ErrorIs(t, err, ErrUndeclared)
	})
	got, err := All(func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(0, errors.New("lost")) && yield(2, nil)
	})
	assert.DeepEqual(t, got, []int{1})
	assert.Error(t, err, "lost")
}

// A notification of any method that nothing else got reaches OnNotification, in order. A modern
// server sends it during a request, NotifyAll to all legacy clients.
func TestOnNotification(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		got := make(chan string, 9)
		s := newServer(server.Options{Extensions: []server.Extension{{ID: "com.example/x"}}})
		addTool(t, s, "tell", func(ctx context.Context) (string, error) {
			for i := range 3 {
				if err := server.NotifyExtension(ctx, "com.example/x", "x/told",
					map[string]int{"i": i}); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		c := connectTo(t, s, Options{Era: era, Extensions: []Extension{{ID: "com.example/x"}},
			OnLog: func(mcp.LoggingMessageParams) {},
			OnNotification: func(method string, params json.RawMessage) {
				got <- method + " " + string(params)
				if method == "app/panic" {
					panic("ashes")
				}
			}})
		_, err := c.CallTool(t.Context(), "tell", nil)
		assert.NilError(t, err)
		for i := range 3 {
			assert.Equal(t, <-got, fmt.Sprintf(`x/told {"i":%d}`, i))
		}
		if era == mcp.Legacy {
			assert.NilError(t, s.NotifyAll(t.Context(), "app/panic", nil))
			assert.NilError(t, s.NotifyAll(t.Context(), "notifications/message",
				mcp.LoggingMessageParams{Level: "info", Data: json.RawMessage(`1`)}))
			assert.NilError(t, s.NotifyAll(t.Context(), "app/news", []int{1}))
			assert.Equal(t, <-got, "app/panic ")
			assert.Equal(t, <-got, "app/news [1]")
		}
	})
}

// The names of notifications count in the memory of those that wait, because the server chooses
// them.
func TestNamesOfNotificationsAreBounded(t *testing.T) {
	s := newServer(server.Options{})
	const sent, length = 40, 64 << 10
	const last = "last"
	got, release := make(chan string, sent+1), make(chan struct{})
	c := connectTo(t, s, Options{Era: mcp.Legacy,
		OnNotification: func(method string, _ json.RawMessage) {
			<-release
			got <- method
		}})
	assert.NilError(t, c.Ping(t.Context())) // the server has accepted notifications/initialized
	for range sent {
		assert.NilError(t, s.NotifyAll(t.Context(), strings.Repeat("m", length), nil))
	}
	assert.NilError(t, s.NotifyAll(t.Context(), last, nil)) // the oldest are dropped
	assert.NilError(t, c.Ping(t.Context()))                 // its response comes after them
	close(release)
	handled := 0
	for <-got != last {
		handled++
	}
	assert.Assert(t, handled > 1 && handled <= 2+1<<20/length, "%d", handled)
}
