package client

import (
	"bytes"
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// logged handles notifications/message, on the reader's goroutine.
func (c *Client) logged(params []byte) {
	if c.o.OnRawLog != nil {
		c.runCallback("OnRawLog", func() { c.o.OnRawLog(params) })
	}
	if c.logs == nil {
		return
	}
	if dropped := c.logs.Put(bytes.Clone(params)); dropped > 0 {
		c.stats.count(func(n *Stats) { n.DroppedLogs += dropped })
	}
}

// deliverLogs calls OnLog for the messages in the queue, also those of a connection that has ended.
func (c *Client) deliverLogs() {
	for params, ok, _ := c.logs.Take(); ok; params, ok, _ = c.logs.Take() {
		var m mcp.LoggingMessageParams
		if mcp.Unmarshal(params, &m) == nil {
			c.runCallback("OnLog", func() { c.o.OnLog(m) })
		}
	}
}

// SetLogLevel changes the minimum severity of the server's log messages. For a legacy server it
// sends a request (2025-11-25, Logging). For a modern server it does not block, and later requests
// contain the level (2026-07-28, Logging). The error is one of [Client.Call].
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	s := c.session.Load()
	if s.features.RequestMeta {
		c.meta.Store(newRequestMeta(s.revision, level, &c.o))
		return nil
	}
	_, err := c.Call(ctx, mcp.MethodSetLevel, mcp.SetLevelParams{Level: level})
	if err == nil {
		c.level.Store(&level) // for a renewed session
	}
	return err
}
