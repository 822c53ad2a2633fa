package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/internal/era"
)

// handle is the [rpc.Handler] of all connections, inside of Options.Middleware. The flow of a
// tools/call is:
//
//	Server.handle
//	  Server.request            request.go: finds the members of params
//	  era.Classify              internal/era: determines the era
//	  request.row               methods.go: finds the method
//	  request.repeat            mrtr.go: runs it, again if a legacy client has answered
//	    callTool                tools.go: answers in the request, or by taskcall.go in a task
//	      request.find          provider.go: asks the providers for the item
//	      request.use           interceptor.go: runs it within Options.Interceptors
//	        operationTool.use   operationtool.go: has dispatch.Dispatcher run the operation
//	          request.toolResult  toolresult.go: makes its envelope the result
//
// The result is encoded when it is sent. A raw tool has a function of rawtool.go in place of
// operationTool.use, and an item of another server one of forwarded.go. The flow of prompts/get and
// resources/read is the same.
func (s *Server) handle(ctx context.Context, req *rpc.Request) (any, error) {
	if req.IsNotification() {
		s.handleNotification(ctx, req)
		return nil, nil
	}
	r, err := s.request(ctx, req)
	defer r.close()
	if err != nil {
		return nil, err
	}
	if r.era, err = era.Classify(r.Method, &r.params.Meta, r.conn.legacy.Load()); err != nil {
		return nil, err
	}
	row, err := r.row()
	if err != nil {
		return nil, err
	}
	if r.params.Meta.ProgressToken != nil {
		r.progress = &progress{ctx: r, link: r.link, token: r.params.Meta.ProgressToken}
		defer r.progress.end()
	}
	result, err := r.repeat(row.handle)
	if err != nil {
		return nil, r.modernError(err)
	}
	return result, nil
}

// handleNotification handles the notifications of MCP and of extensions, and ignores others.
func (s *Server) handleNotification(ctx context.Context, req *rpc.Request) {
	from, _ := ctx.Value(connKey{}).(*connContext)
	if handle, ok := notifications[req.Method]; ok {
		handle(from.conn, req)
	} else {
		s.notifyExtension(ctx, from.conn, from.link, req)
	}
}
