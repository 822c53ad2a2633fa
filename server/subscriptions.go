package server

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// listen answers subscriptions/listen when the subscription ends: it is open as long as the request is (2026-07-28,
// basic/patterns/subscriptions). Subscriptions are a connection's own, by the id of the request that opened them.
func listen(ctx context.Context, r *request) (any, error) {
	c := r.conn
	filter := jsonscan.Member(r.Params, "notifications")
	if len(filter) == 0 || filter[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications must be there and an object")
	}
	var wantsTools bool
	if raw := jsonscan.Member(filter, "toolsListChanged"); raw != nil && json.Unmarshal(raw, &wantsTools) != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications.toolsListChanged must be a boolean")
	}
	sub := &subscription{id: r.ID, meta: encoded(`{"` + mcp.MetaSubscriptionID + `":` + r.ID.String())}
	if !c.reserve(sub) {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d subscriptions are open already; cancel one first", c.server.o.MaxSubscriptions)
	}
	defer c.unsubscribe(sub)
	r.Detach()

	// The acknowledgment comes first; what changes while it is being sent is told behind it.
	accepted := `{}`
	if wantsTools {
		accepted = `{"toolsListChanged":true}`
	}
	seen := c.server.toolSet()
	params := encoded(`{"notifications":` + accepted + `,"_meta":` + string(sub.meta) + `}}`)
	if err := r.Peer().Notify(ctx, mcp.NotificationSubscriptionsAcknowledged, params); err != nil {
		return nil, err
	}
	if wantsTools {
		c.activate(sub)
		if c.server.toolSet() != seen {
			c.toolsChanged(r.Peer())
		}
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.closing:
	}
	// The specification has both: basic/patterns/cancellation wants this notification, subscriptions the result.
	_ = r.Peer().Notify(ctx, mcp.NotificationCancelled, encoded(`{"requestId":`+r.ID.String()+`,"reason":"the server is shutting down"}`))
	result := append([]byte(`{"resultType":"complete","_meta":`), sub.meta...)
	return encoded(append(append(append(result, `,"`+mcp.MetaServerInfo+`":`...), c.server.info...), "}}"...)), nil
}

// A subscription is an open subscriptions/listen.
type subscription struct {
	id     rpc.ID
	meta   encoded // of its notifications, but for the brace that ends it
	active bool    // it was acknowledged, and wants the changes of the list of tools
}

func (c *conn) reserve(sub *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscriptions) >= c.server.o.MaxSubscriptions {
		return false
	}
	c.subscriptions[sub.id] = sub
	return true
}

func (c *conn) activate(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub.active = true
}

func (c *conn) unsubscribe(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscriptions, sub.id)
}

// watchCatalog tells all connections when the list of tools has changed.
func (s *Server) watchCatalog() (stop func()) {
	return s.catalog.OnChange(func() {
		for _, c := range s.connections() {
			c.toolsChanged(c.peer)
		}
	})
}

// toolsChanged tells a connection's client that the list of tools has changed, as often as it asked for, without waiting for it: if it does not read,
// the news of what happens meanwhile are one.
func (c *conn) toolsChanged(peer *rpc.Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	if !c.telling && c.ctx.Err() == nil {
		c.telling = true
		c.goroutines.Go(func() { c.tell(peer) })
	}
}

func (c *conn) tell(peer *rpc.Peer) {
	for {
		c.mu.Lock()
		if !c.stale {
			c.telling = false
			c.mu.Unlock()
			return
		}
		c.stale = false
		var metas []encoded
		for _, sub := range c.subscriptions {
			if sub.active {
				metas = append(metas, sub.meta)
			}
		}
		c.mu.Unlock()
		if c.open.Load() {
			_ = peer.Notify(c.ctx, mcp.NotificationToolListChanged, nil) // fails only when the connection ends
		}
		for _, meta := range metas {
			_ = peer.Notify(c.ctx, mcp.NotificationToolListChanged, encoded(`{"_meta":`+string(meta)+`}}`))
		}
		_ = peer.Flush(c.ctx) // or news would pile up in the queue
	}
}
