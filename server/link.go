package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Link is a way to a client. A [rpc.Peer] is one; over HTTP, each request has one of its own, which is its stream of events.
type Link interface {
	// Notify sends a notification. It may return before that has arrived, and blocks while too much waits to be read, until ctx ends.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request, and blocks until the client has answered or ctx ends. A client of the modern era is never called.
	Call(ctx context.Context, method string, params, result any) error
}

// flush waits until what was sent has been handed over, if the link can tell.
func flush(ctx context.Context, l Link) {
	if l, ok := l.(interface{ Flush(context.Context) error }); ok {
		_ = l.Flush(ctx) // it fails when the link has ended, which is told elsewhere
	}
}

// A watched link has middleware see what goes out.
type middlewareLink struct {
	Link
	callHandler, notifyHandler rpc.Handler
}

// wrapLink wraps a link. The innermost handler sends.
func (s *Server) wrapLink(l Link) Link {
	if len(s.o.Outgoing) == 0 || l == nil {
		return l
	}
	return &middlewareLink{
		Link: l,
		notifyHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			return nil, l.Notify(ctx, req.Method, rawJSON(req.Params).orNil())
		}, s.o.Outgoing...),
		callHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			var result json.RawMessage
			err := l.Call(ctx, req.Method, rawJSON(req.Params).orNil(), &result)
			return rawJSON(result), err
		}, s.o.Outgoing...),
	}
}

func (w *middlewareLink) Notify(ctx context.Context, method string, params any) error {
	encoded, err := encodeParams(params)
	if err != nil {
		return err
	}
	_, err = w.notifyHandler(ctx, &rpc.Request{Method: method, Params: encoded})
	return err
}

func (w *middlewareLink) Call(ctx context.Context, method string, params, result any) error {
	encoded, err := encodeParams(params)
	if err != nil {
		return err
	}
	answer, err := w.callHandler(ctx, &rpc.Request{Method: method, Params: encoded})
	if err != nil || result == nil {
		return err
	}
	text, err := encodeParams(answer) // by now it may be somebody else's
	if err != nil {
		return err
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = text
		return nil
	}
	return mcp.Unmarshal(text, result)
}

// Flush keeps what [flush] looks for.
func (w *middlewareLink) Flush(ctx context.Context) error {
	flush(ctx, w.Link)
	return nil
}

func encodeParams(params any) (json.RawMessage, error) {
	switch params := params.(type) {
	case nil:
		return nil, nil
	case rpc.Appender:
		return params.AppendJSON(nil)
	}
	return mcp.Marshal(params)
}

// noLink is the link of a request that came without one.
type noLink struct{}

var errNoLink = errors.New("server: there is no way to the client but the answer")

func (noLink) Notify(context.Context, string, any) error    { return errNoLink }
func (noLink) Call(context.Context, string, any, any) error { return errNoLink }
