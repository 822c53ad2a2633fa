package server

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// A scannedRequest is a request whose params are read before middleware gets it. It is also the
// context for the middleware.
type scannedRequest struct {
	context.Context
	request request
	err     error // the error of request.read
	raw     json.RawMessage
	used    atomic.Bool // a call of handle uses request; middleware may call handle again
}

type scannedKey struct{}

func (s *scannedRequest) Value(key any) any {
	switch key.(type) {
	case scannedKey, contextkey.RequestParams:
		return s
	case contextkey.Connection:
		return s.request.conn
	}
	return s.Context.Value(key)
}

// scan returns a handler that reads the params of each request once, both for next, which is
// middleware, and for handle.
func scan(next rpc.Handler) rpc.Handler {
	return func(ctx context.Context, req *rpc.Request) (any, error) {
		if req.IsNotification() {
			return next(ctx, req)
		}
		s := &scannedRequest{Context: ctx, raw: req.Params}
		s.err = s.request.open(ctx, req)
		return next(s, req)
	}
}

// request returns the request for a call of handle. It fails if the params are invalid.
func (s *Server) request(ctx context.Context, req *rpc.Request) (*request, error) {
	if len(s.o.Middleware) > 0 {
		scanned, _ := ctx.Value(scannedKey{}).(*scannedRequest)
		if scanned != nil && scanned.Of(req.Params) && scanned.used.CompareAndSwap(false, true) {
			scanned.request.Context, scanned.request.Request = ctx, req
			return &scanned.request, scanned.err
		}
	}
	r := new(request)
	return r, r.open(ctx, req)
}

// Of implements [mcp.RequestParams].
func (s *scannedRequest) Of(params json.RawMessage) bool {
	return jsonscan.Same(params, s.raw)
}

// Param implements [mcp.RequestParams].
func (s *scannedRequest) Param(name string) json.RawMessage {
	for i := range s.request.members {
		if string(s.request.members[i].name) == name {
			return s.request.members[i].value
		}
	}
	return nil
}

// MetaValue implements [mcp.RequestParams].
func (s *scannedRequest) MetaValue(key string) json.RawMessage {
	if value := s.request.meta.member([]byte(key)); value != nil {
		return *value
	}
	return nil
}
