package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/turn"
)

// A Router calls the handler that is registered for the method of a message. Register handlers with
// [Handle] and [HandleNotification], then use [Router.Serve] as [Options].Handler. The zero Router
// is ready to use. Registering a handler while Serve runs is a data race.
type Router struct {
	routes map[string]route
}

type route struct {
	handler      Handler
	notification bool // the method is served only as a notification
}

// Handle registers fn for the requests of a method. Params are decoded into P by the rules of
// encoding/json, except that a key must be exactly the name of its field and must not occur twice.
// Absent params leave the zero P. If they do not fit, the caller gets [CodeInvalidParams] with a
// message that names the field, and fn is not called. [json.RawMessage] as P receives them
// undecoded.
//
// With positions, params may also be an array: its elements are those members of P, in that order,
// and the last ones may be missing. So [1,2] is {"x":1,"y":2} after
//
//	rpc.Handle(&router, "move", func(ctx context.Context, p Point) (bool, error) { ... }, "x", "y")
//
// The result and the error of fn are those of a [Handler]. If the other side sends the method as a
// notification, fn is called and its result dropped.
//
// Handle panics if method is empty or already registered, fn is nil, P is a Request, or a position
// occurs twice or is no member of P.
func Handle[P, R any](r *Router, method string, fn func(context.Context, P) (R, error),
	positions ...string) {
	checkParams[P](method, positions)
	r.add(method, fn == nil, route{handler: func(ctx context.Context, req *Request) (any, error) {
		params, err := decodeParams[P](ctx, req, positions)
		if err != nil {
			return nil, err
		}
		return fn(ctx, params)
	}})
}

// HandleNotification registers fn for the notifications of a method. It decodes params and panics
// as [Handle] does. Only middleware and [Hooks].Call receive the error of fn, or that of params
// that do not fit. A request for the method is refused with [ErrMethodNotFound].
func HandleNotification[P any](r *Router, method string, fn func(context.Context, P) error,
	positions ...string) {
	checkParams[P](method, positions)
	r.add(method, fn == nil, route{notification: true,
		handler: func(ctx context.Context, req *Request) (any, error) {
			params, err := decodeParams[P](ctx, req, positions)
			if err != nil {
				return nil, err
			}
			return nil, fn(ctx, params)
		}})
}

func (r *Router) add(method string, noHandler bool, added route) {
	_, duplicate := r.routes[method]
	switch {
	case method == "":
		panic("rpc: a handler for an empty method")
	case noHandler:
		panic("rpc: the handler of " + method + " is nil")
	case duplicate:
		panic("rpc: " + method + " has a handler already")
	}
	if r.routes == nil {
		r.routes = make(map[string]route)
	}
	r.routes[method] = added
}

// Serve is a [Handler] that calls the handler of the message's method. It refuses a request for any
// other method with [CodeMethodNotFound] and ignores any other notification.
func (r *Router) Serve(ctx context.Context, req *Request) (any, error) {
	route, ok := r.routes[req.Method]
	switch {
	case ok && (req.IsNotification() || !route.notification):
		return route.handler(ctx, req)
	case req.IsNotification():
		return nil, nil
	case ok:
		return nil, Errorf(CodeMethodNotFound, "%.100q is a notification; send it without an id",
			req.Method)
	}
	return nil, methodNotFound(req.Method)
}

func methodNotFound(method string) error {
	return Errorf(CodeMethodNotFound, "there is no method %.100q", method)
}

func decodeParams[P any](ctx context.Context, req *Request, positions []string) (params P,
	err error) {
	text := req.Params
	if text == nil {
		return params, nil
	}
	if len(positions) > 0 && text[0] == '[' {
		if text, err = nameElements(text, positions); err != nil {
			return params, err
		}
	}
	turn.Do(ctx, len(text), func() { err = jsonexact.Unmarshal(text, &params) })
	if err == nil {
		return params, nil
	}
	path, cause := "params", err
	if e, ok := errors.AsType[*jsonexact.DecodeError](err); ok {
		if e.Path != "" && !strings.HasPrefix(e.Path, "[") {
			path += "."
		}
		path, cause = path+e.Path, e.Err
	}
	return params, Errorf(CodeInvalidParams, "%s: %v", path, cause)
}

// nameElements returns an object with the elements of an array under the names of their positions.
func nameElements(array json.RawMessage, positions []string) (json.RawMessage, error) {
	object, n := make([]byte, 0, len(array)+32*len(positions)), 0
	for element := range jsonscan.Elements(array) {
		if n == len(positions) {
			return nil, Errorf(CodeInvalidParams, "params: too many elements; want at most %d: %s", n,
				strings.Join(positions, ", "))
		}
		object = jsonscan.AppendString(append(object, ','), positions[n])
		object = append(append(object, ':'), element...)
		n++
	}
	if n == 0 {
		return json.RawMessage("{}"), nil
	}
	object[0] = '{'
	return append(object, '}'), nil
}

// checkParams panics if P is a Request, which is not what params are decoded into, if a position
// occurs twice, or if P has no member of that name: then P accepts the number 1 as that member and
// remains zero.
func checkParams[P any](method string, positions []string) {
	switch any(*new(P)).(type) {
	case Request, *Request:
		panic(fmt.Sprintf("rpc: %s: params are not decoded into a %T; use json.RawMessage", method,
			*new(P)))
	}
	for i, name := range positions {
		var p P
		object, err := nameElements(json.RawMessage("[1]"), positions[i:])
		if err == nil {
			err = jsonexact.Unmarshal(object, &p)
		}
		switch {
		case slices.Contains(positions[:i], name):
			panic(fmt.Sprintf("rpc: %s has the position %q twice", method, name))
		case err == nil && reflect.ValueOf(&p).Elem().IsZero():
			panic(fmt.Sprintf("rpc: %s has the position %q, which is no member of %T", method, name, p))
		}
	}
}

// A peerContext is the context of a peer's messages. It has the values of Options.Context, and does
// not end. The Value of context.WithoutCancel would allocate for each key that others ask it for.
type peerContext struct {
	context.Context // context.Background
	values          context.Context
	peer            *Peer
}

type peerKey struct{}

// Value implements [context.Context].
func (c *peerContext) Value(key any) any {
	switch key {
	case peerKey{}:
		return c.peer
	case turn.Key{}:
		return c.peer.line
	}
	return c.values.Value(key)
}

// PeerFromContext returns the peer whose handler was called with ctx, so that the handler can call
// the other side. It returns nil if no peer called it, as over HTTP; see [AppendResponse]. The
// methods of a nil Peer that send or close then return an error that says so.
func PeerFromContext(ctx context.Context) *Peer {
	p, _ := ctx.Value(peerKey{}).(*Peer)
	return p
}
