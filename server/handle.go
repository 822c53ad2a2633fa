package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc"
)

// handle is the [rpc.Handler] of all connections, inside of Options.Middleware.
func (s *Server) handle(ctx context.Context, req *rpc.Request) (any, error) {
	if req.IsNotification() {
		from, _ := ctx.Value(connKey{}).(*connContext)
		if handle, ok := notifications[req.Method]; ok {
			handle(from.conn, req)
		} else {
			s.notifyExtension(ctx, from.conn, from.link, req)
		}
		return nil, nil
	}
	r, err := s.request(ctx, req)
	defer r.close()
	if err != nil {
		return nil, err
	}
	c := r.conn
	if r.link == nil {
		r.link = noLink{}
		if peer := req.Peer(); peer != nil {
			r.link = s.wrapLink(peer)
		}
	}
	era, err := classify(r, c.legacy.Load())
	if err != nil {
		return nil, err
	}
	r.era = era
	m, ok := methods[req.Method]
	if !ok || !m.in(era) || m.needs != nil && !m.needs(s.declaredKinds()) {
		m, ok, err = r.extensionMethod()
		if err != nil {
			return nil, r.modernError(err)
		}
		if !ok {
			return nil, methodNotFound(req.Method, era)
		}
	}
	if r.meta.progressToken != nil {
		r.progress = &progress{ctx: r, link: r.link, token: r.meta.progressToken}
		defer r.progress.end()
	}
	result, err := r.repeat(m.handle)
	switch {
	case err == nil:
		return result, nil
	case era.modern:
		err = r.modernError(err)
	}
	return nil, err
}
