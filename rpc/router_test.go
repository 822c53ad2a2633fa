package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

type point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// routed returns a client of a peer with that router.
func routed(t *testing.T, r *rpc.Router) *rpc.Peer {
	client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: r.Serve})
	return client
}

func TestRouterDecodesParams(t *testing.T) {
	var r rpc.Router
	rpc.Handle(&r, "object", func(_ context.Context, p struct {
		Points []point `json:"points"`
	}) ([]point, error) {
		return p.Points, nil
	})
	rpc.Handle(&r, "array", func(_ context.Context, p [2]int) (int, error) { return p[0] + p[1], nil })
	rpc.Handle(&r, "pointer", func(_ context.Context, p *point) (bool, error) { return p == nil, nil })
	rpc.Handle(&r, "raw", func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
		return p, nil
	})
	client := routed(t, &r)
	for _, c := range []struct{ method, params, want string }{
		{"object", `{"points":[{"x":1,"y":2}]}`, `[{"x":1,"y":2}]`},
		{"array", `[1,2]`, `3`},
		{"pointer", ``, `true`},
		{"pointer", `{}`, `false`},
		{"raw", `{"a" : 1}`, `{"a" : 1}`},
		{"object", `{"points":[{"x":1},{"x":"2"}]}`,
			"params.points[1].x: want a number, not a string (code -32602)"},
		{"object", `[1]`, "params: want an object, not an array (code -32602)"},
		{"array", `[1,"2"]`, "params[1]: want a number, not a string (code -32602)"},
	} {
		var params any
		if c.params != "" {
			params = json.RawMessage(c.params)
		}
		var result json.RawMessage
		got := ""
		if err := client.Call(t.Context(), c.method, params, &result); err != nil {
			got = err.Error()
		} else {
			got = string(result)
		}
		assert.Equal(t, got, c.want, "%s %s", c.method, c.params)
	}
}

func TestRouterPassesErrors(t *testing.T) {
	var r rpc.Router
	rpc.Handle(&r, "own", func(context.Context, struct{}) (int, error) {
		return 0, fmt.Errorf("wrapped: %w", rpc.Errorf(7, "seven"))
	})
	rpc.Handle(&r, "other", func(context.Context, struct{}) (int, error) {
		return 0, errors.New("a secret")
	})
	client := routed(t, &r)
	assert.Error(t, client.Call(t.Context(), "own", nil, nil), "seven (code 7)")
	assert.Error(t, client.Call(t.Context(), "other", nil, nil), "Internal error (code -32603)")
	assert.Error(t, client.Call(t.Context(), "none", nil, nil),
		`there is no method "none" (code -32601)`)
}

func TestRouterServesNotifications(t *testing.T) {
	var r rpc.Router
	var got []string // accessed in order: notifications run before what is sent after them
	rpc.HandleNotification(&r, "add", func(_ context.Context, p []string) error {
		got = append(got, p...)
		return nil
	})
	rpc.Handle(&r, "take", func(context.Context, struct{}) ([]string, error) {
		taken := got
		got = nil
		return taken, nil
	})
	var ended []error
	client, server := rpc.Pipe(rpc.Options{}, rpc.Options{Handler: r.Serve,
		Hooks: rpc.Hooks{Call: func(e rpc.CallEvent) {
			if e.End && e.ID.IsZero() {
				ended = append(ended, e.Err)
			}
		}}})
	ctx := t.Context()
	for _, n := range []struct {
		method string
		params any
	}{{"add", []string{"a"}}, {"add", []int{1}}, {"unknown", nil}, {"add", []string{"b"}}} {
		assert.NilError(t, client.Notify(ctx, n.method, n.params))
	}
	var taken []string
	assert.NilError(t, client.Call(ctx, "take", nil, &taken))
	assert.DeepEqual(t, taken, []string{"a", "b"})
	assert.ErrorIs(t, client.Call(ctx, "add", []string{"c"}, nil), rpc.ErrMethodNotFound)

	assert.NilError(t, client.Notify(ctx, "add", []string{"d"}))
	assert.NilError(t, client.Notify(ctx, "take", nil)) // a request's method without an id
	assert.NilError(t, client.Call(ctx, "take", nil, &taken))
	assert.Equal(t, len(taken), 0)

	_ = client.Close()
	_ = server.Wait()
	assert.Equal(t, len(ended), 6)
	for i, err := range ended {
		if i == 1 {
			assert.ErrorIs(t, err, rpc.ErrInvalidParams)
		} else {
			assert.NilError(t, err)
		}
	}
}

func TestRegistrationPanics(t *testing.T) {
	none := func(context.Context, struct{}) (any, error) { return nil, nil }
	panics := func(want string, register func(r *rpc.Router)) {
		t.Helper()
		defer func() { assert.Equal(t, recover(), want) }()
		var r rpc.Router
		rpc.Handle(&r, "taken", none)
		register(&r)
	}
	panics("rpc: taken has a handler already", func(r *rpc.Router) { rpc.Handle(r, "taken", none) })
	panics("rpc: taken has a handler already", func(r *rpc.Router) {
		rpc.HandleNotification(r, "taken", func(context.Context, struct{}) error { return nil })
	})
	panics("rpc: a handler for an empty method", func(r *rpc.Router) { rpc.Handle(r, "", none) })
	panics("rpc: the handler of nil is nil", func(r *rpc.Router) {
		rpc.HandleNotification[struct{}](r, "nil", nil)
	})
}

func TestHandlerCallsItsPeer(t *testing.T) {
	var r rpc.Router
	rpc.Handle(&r, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		var name string
		err := rpc.PeerFromContext(ctx).Call(ctx, "name", nil, &name)
		return "hello " + name, err
	})
	var names rpc.Router
	rpc.Handle(&names, "name", func(context.Context, struct{}) (string, error) { return "Ann", nil })
	client, server := rpc.Pipe(rpc.Options{Handler: names.Serve}, rpc.Options{Handler: r.Serve})
	var hello string
	assert.NilError(t, client.Call(t.Context(), "ask", nil, &hello))
	assert.Equal(t, hello, "hello Ann")
	_ = client.Close()
	assert.NilError(t, client.Wait())
	_ = server.Wait()
	assert.Assert(t, rpc.PeerFromContext(t.Context()) == nil)
}
