package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
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
// The result and the error of fn are those of a [Handler]. If the other side sends the method as a
// notification, fn is called and its result dropped.
//
// Handle panics if method is empty or already registered, or fn is nil.
func Handle[P, R any](r *Router, method string, fn func(context.Context, P) (R, error)) {
	r.add(method, fn == nil, route{handler: func(ctx context.Context, req *Request) (any, error) {
		params, err := decodeParams[P](req)
		if err != nil {
			return nil, err
		}
		return fn(ctx, params)
	}})
}

// HandleNotification registers fn for the notifications of a method. It decodes params and panics
// as [Handle] does. Only [Hooks].Call receives the error of fn, or that of params that do not
// fit. A request for the method is refused with [ErrMethodNotFound].
func HandleNotification[P any](r *Router, method string, fn func(context.Context, P) error) {
	r.add(method, fn == nil, route{notification: true,
		handler: func(ctx context.Context, req *Request) (any, error) {
			params, err := decodeParams[P](req)
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
	}
	return nil, methodNotFound(req.Method)
}

func methodNotFound(method string) error {
	return Errorf(CodeMethodNotFound, "there is no method %.100q", method)
}

func decodeParams[P any](req *Request) (params P, err error) {
	if req.Params == nil {
		return params, nil
	}
	if err = jsonexact.Unmarshal(req.Params, &params); err == nil {
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

type peerKey struct{}

// PeerFromContext returns the peer whose handler was called with ctx, so that the handler can call
// the other side. It returns nil if no peer called it; see [AppendResponse].
func PeerFromContext(ctx context.Context) *Peer {
	p, _ := ctx.Value(peerKey{}).(*Peer)
	return p
}
