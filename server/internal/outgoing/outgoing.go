// Package outgoing has the ways of the messages that a server sends to its client.
package outgoing

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Link sends messages to a client. It is the Link of package server.
type Link interface {
	Notify(ctx context.Context, method string, params any) error
	Call(ctx context.Context, method string, params, result any) error
}

// Flush waits until the link has written all sent messages, if it has a method Flush.
func Flush(ctx context.Context, l Link) {
	if l, ok := l.(interface{ Flush(context.Context) error }); ok {
		_ = l.Flush(ctx) // fails only if the link has ended
	}
}

// Params are encoded params.
type Params []byte

// AppendJSON implements [rpc.Appender]. Its error is nil.
func (p Params) AppendJSON(dst []byte) ([]byte, error) { return append(dst, p...), nil }

// JSONSize returns the size for [rpc.Appender].
func (p Params) JSONSize() int { return len(p) }

// OrNil returns p, or a nil interface if p is nil.
func (p Params) OrNil() any {
	if p == nil {
		return nil
	}
	return p
}

// Encode encodes params or a result; nil for nil.
func Encode(params any) (json.RawMessage, error) {
	switch params := params.(type) {
	case nil:
		return nil, nil
	case rpc.Appender:
		return params.AppendJSON(nil)
	}
	return mcp.Marshal(params)
}

// A middlewareLink passes messages through middleware.
type middlewareLink struct {
	Link
	callHandler, notifyHandler rpc.Handler
}

// Through wraps a link in middleware. The innermost handler sends; that of a request returns what
// newResult makes of the client's result.
func Through(middleware []rpc.Middleware, l Link, newResult func(json.RawMessage) any) Link {
	return &middlewareLink{
		Link: l,
		notifyHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			return nil, l.Notify(ctx, req.Method, Params(req.Params).OrNil())
		}, middleware...),
		callHandler: rpc.Chain(func(ctx context.Context, req *rpc.Request) (any, error) {
			var result json.RawMessage
			err := l.Call(ctx, req.Method, Params(req.Params).OrNil(), &result)
			return newResult(result), err
		}, middleware...),
	}
}

func (w *middlewareLink) Notify(ctx context.Context, method string, params any) error {
	encoded, err := Encode(params)
	if err != nil {
		return err
	}
	_, err = w.notifyHandler(ctx, &rpc.Request{Method: method, Params: encoded})
	return err
}

func (w *middlewareLink) Call(ctx context.Context, method string, params, result any) error {
	encoded, err := Encode(params)
	if err != nil {
		return err
	}
	answer, err := w.callHandler(ctx, &rpc.Request{Method: method, Params: encoded})
	if err != nil || result == nil {
		return err
	}
	text, err := Encode(answer) // middleware may have replaced the result
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
	Flush(ctx, w.Link)
	return nil
}

// None is the link for requests whose transport cannot send messages meanwhile.
type None struct{}

var errNone = errors.New(
	"server: the transport cannot send messages to the client while it handles this request")

func (None) Notify(context.Context, string, any) error    { return errNone }
func (None) Call(context.Context, string, any, any) error { return errNone }
