package server

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// NotifyAll sends a notification of any method to each legacy client whose handshake is done.
// Modern clients get only the notifications that they subscribe to. Params must encode as a JSON
// object; nil means no params. ResourceUpdated, the methods that add and remove items, and the
// function [Log] send the notifications that MCP defines for servers.
//
// NotifyAll blocks until the notification is queued for each client, or ctx ends; it ends early for
// a client that disconnects. A client that does not read delays no other one. The error is that of
// ctx, or says that the params cannot be encoded.
func (s *Server) NotifyAll(ctx context.Context, method string, params any) error {
	encoded, err := outgoing.Encode(params)
	if err == nil {
		_, err = rpc.AppendRequest(nil, rpc.ID{}, method, outgoing.Params(encoded).OrNil())
	}
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	s.mu.Lock()
	for c := range s.conns {
		if link := c.unsolicitedLink(); link != nil && c.initialized.Load() {
			sending.Go(func() {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(c.ctx, cancel)()
				s.runCallback("Link.Notify", func() {
					_ = link.Notify(&connContext{ctx, c, nil}, method, outgoing.Params(encoded).OrNil())
				})
			})
		}
	}
	s.mu.Unlock()
	sending.Wait()
	return ctx.Err()
}
