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
	client, server := rpc.Options{}.Pipe(rpc.Options{Handler: r.Serve,
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
	assert.Error(t, client.Call(ctx, "add", []string{"c"}, nil),
		`"add" is a notification; send it without an id (code -32601)`)

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
	panics("rpc: raw: params are not decoded into a *rpc.Request; use json.RawMessage",
		func(r *rpc.Router) {
			rpc.Handle(r, "raw", func(context.Context, *rpc.Request) (any, error) { return nil, nil })
		})
	panics("rpc: raw: params are not decoded into a rpc.Request; use json.RawMessage",
		func(r *rpc.Router) {
			rpc.HandleNotification(r, "raw", func(context.Context, rpc.Request) error { return nil })
		})
	move := func(context.Context, point) (any, error) { return nil, nil }
	panics(`rpc: move has the position "z", which is no member of rpc_test.point`,
		func(r *rpc.Router) { rpc.Handle(r, "move", move, "x", "z") })
	panics(`rpc: move has the position "x" twice`,
		func(r *rpc.Router) { rpc.Handle(r, "move", move, "x", "x") })
	panics(`rpc: move has the position "x" twice`, func(r *rpc.Router) {
		rpc.HandleNotification(r, "move", func(context.Context, point) error { return nil }, "x", "x")
	})
}

// Positions name the elements of an array; an object is decoded as without them.
func TestPositions(t *testing.T) {
	type member struct {
		Name string         `json:"name"`
		At   *point         `json:"at,omitempty"`
		Tags []string       `json:"tags"`
		More map[string]int `json:"more"`
		Any  any            `json:"any"`
		Bool bool           `json:"bool"`
	}
	var r rpc.Router
	rpc.Handle(&r, "member", func(_ context.Context, p member) (member, error) { return p, nil },
		"name", "at", "tags", "more", "any", "bool")
	rpc.Handle(&r, "move", func(_ context.Context, p point) (point, error) { return p, nil },
		"y", "x")
	rpc.Handle(&r, "map", func(_ context.Context, p map[string]any) (any, error) { return p, nil },
		"a\"b", "c")
	moved := point{}
	rpc.HandleNotification(&r, "moved", func(_ context.Context, p point) error {
		moved = p
		return nil
	}, "x", "y")
	client := routed(t, &r)
	for _, c := range []struct{ method, params, want string }{
		{"move", `[1,2]`, `{"x":2,"y":1}`},
		{"move", `{"x":1,"y":2}`, `{"x":1,"y":2}`},
		{"move", ` [ 1 , 2 ] `, `{"x":2,"y":1}`},
		{"move", `[1]`, `{"x":0,"y":1}`},
		{"move", `[]`, `{"x":0,"y":0}`},
		{"move", `[1,2,3]`, "params: too many elements; want at most 2: y, x (code -32602)"},
		{"move", `[1,"2"]`, "params.x: want a number, not a string (code -32602)"},
		{"map", `[[],{"c":[1,"]"]}]`, `{"a\"b":[],"c":{"c":[1,"]"]}}`},
		{"member", `["n",{"x":1},["t"],{"a":1},null,true]`,
			`{"name":"n","at":{"x":1,"y":0},"tags":["t"],"more":{"a":1},"any":null,"bool":true}`},
	} {
		var result json.RawMessage
		got := ""
		err := client.Call(t.Context(), c.method, json.RawMessage(c.params), &result)
		if err != nil {
			got = err.Error()
		} else {
			got = string(result)
		}
		assert.Equal(t, got, c.want, "%s %s", c.method, c.params)
	}
	assert.NilError(t, client.Notify(t.Context(), "moved", []int{3, 4}))
	assert.NilError(t, client.Call(t.Context(), "move", []int{}, nil))
	assert.Equal(t, moved, point{3, 4})
}

// Middleware gets what the method's function returned.
func TestMiddlewareGetsTheResult(t *testing.T) {
	var r rpc.Router
	rpc.Handle(&r, "move", func(_ context.Context, p point) (*point, error) { return &p, nil })
	flip := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			result, err := next(ctx, req)
			moved := result.(*point)
			return point{moved.Y, moved.X}, err
		}
	}
	client, _ := pair(t, rpc.Options{}, rpc.Options{Handler: rpc.Chain(r.Serve, flip)})
	var got point
	assert.NilError(t, client.Call(t.Context(), "move", point{1, 2}, &got))
	assert.Equal(t, got, point{2, 1})
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
	client, server := rpc.Options{Handler: names.Serve}.Pipe(rpc.Options{Handler: r.Serve})
	var hello string
	assert.NilError(t, client.Call(t.Context(), "ask", nil, &hello))
	assert.Equal(t, hello, "hello Ann")
	_ = client.Close()
	assert.NilError(t, client.Wait())
	_ = server.Wait()
	assert.Assert(t, rpc.PeerFromContext(t.Context()) == nil)
}

// A handler that is called over HTTP has no peer, and learns so from the methods that need one.
func TestNoPeer(t *testing.T) {
	p := rpc.PeerFromContext(t.Context())
	for name, method := range map[string]func() error{
		"Call":   func() error { return p.Call(t.Context(), "m", nil, nil) },
		"Start":  func() error { _, err := p.Start(t.Context(), "m", nil); return err },
		"Notify": func() error { return p.Notify(t.Context(), "m", nil) },
		"Batch":  func() error { return p.Batch(t.Context(), []*rpc.BatchCall{{Method: "m"}}) },
		"Flush":  func() error { return p.Flush(t.Context()) },
		"Close":  p.Close,

		"Shutdown": func() error { return p.Shutdown(t.Context()) },
	} {
		assert.ErrorContains(t, method(), "rpc: no peer: ", name)
	}
}
