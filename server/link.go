package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Link sends messages to a client. An [rpc.Peer] is a Link; over HTTP each request has its own
// Link, which writes to the event stream of the request.
type Link interface {
	// Notify sends a notification. It may return before the client has received it. While too much
	// waits to be sent, it blocks until ctx ends.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request and blocks until the client responds or ctx ends. It is called only for
	// legacy clients.
	Call(ctx context.Context, method string, params, result any) error
}

// flush waits until the link has written all sent messages, if it has a method Flush.
func flush(ctx context.Context, l Link) {
	if l, ok := l.(interface{ Flush(context.Context) error }); ok {
		_ = l.Flush(ctx) // fails only if the link has ended
	}
}

// rawParams are encoded params.
type rawParams []byte

func (p rawParams) AppendJSON(dst []byte) ([]byte, error) { return append(dst, p...), nil }

// JSONSize returns the size for [rpc.Appender].
func (p rawParams) JSONSize() int { return len(p) }

// orNil returns p, or a nil interface if p is nil.
func (p rawParams) orNil() any {
	if p == nil {
		return nil
	}
	return p
}

// A middlewareLink passes messages through Options.Outgoing.
type middlewareLink struct {
	Link
	callHandler, notifyHandler rpc.Handler
}

// wrapLink wraps a link in Options.Outgoing. The innermost handler sends.
func (s *Server) wrapLink(l Link) Link {
	if len(s.o.Outgoing) == 0 || l == nil {
		return l
	}
	return &middlewareLink{
		Link: l,
		notifyHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			return nil, l.Notify(ctx, req.Method, rawParams(req.Params).orNil())
		}, s.o.Outgoing...),
		callHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			var result json.RawMessage
			err := l.Call(ctx, req.Method, rawParams(req.Params).orNil(), &result)
			return NewResult(result), err
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
	text, err := encodeParams(answer) // middleware may have replaced the result
	if err != nil {
		return err
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = text
		return nil
	}
	return mcp.Unmarshal(text, result)
}

// Flush flushes the wrapped link, if that has a method Flush.
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

// noLink is the link for requests whose transport cannot send messages meanwhile.
type noLink struct{}

var errNoLink = errors.New(
	"server: the transport cannot send messages to the client while it handles this request")

func (noLink) Notify(context.Context, string, any) error    { return errNoLink }
func (noLink) Call(context.Context, string, any, any) error { return errNoLink }
