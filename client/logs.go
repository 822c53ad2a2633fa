package client

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxLogs     = 256     // messages that wait for OnLog
	maxLogBytes = 1 << 20 // of all of them; one is always accepted
)

// A logQueue buffers log messages for Options.OnLog. When it is full, it drops the oldest.
type logQueue struct {
	stats *lockedStats  // counts those that are dropped
	ready chan struct{} // capacity 1: the queue is not empty

	mu    sync.Mutex
	items [][]byte
	bytes int
}

// put adds the params of a message.
func (q *logQueue) put(params []byte) {
	dropped := 0
	q.mu.Lock()
	q.items = append(q.items, bytes.Clone(params))
	q.bytes += len(params)
	for len(q.items) > maxLogs || q.bytes > maxLogBytes && len(q.items) > 1 {
		q.shift()
		dropped++
	}
	q.mu.Unlock()
	if dropped > 0 {
		q.stats.count(func(n *Stats) { n.DroppedLogs += dropped })
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// logged handles notifications/message, on the reader's goroutine.
func (c *Client) logged(params []byte) {
	if c.o.OnRawLog != nil {
		c.runCallback("OnRawLog", func() { c.o.OnRawLog(params) })
	}
	if c.logs != nil {
		c.logs.put(params)
	}
}

func (q *logQueue) shift() []byte {
	first := q.items[0]
	q.items[0] = nil
	q.items = q.items[1:]
	q.bytes -= len(first)
	return first
}

func (q *logQueue) take() ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, false
	}
	return q.shift(), true
}

// deliverLogs calls OnLog until the connection ends and the queue is empty.
func (c *Client) deliverLogs() {
	for open := true; open; {
		select {
		case <-c.logs.ready:
		case <-c.ctx.Done():
			open = false
		}
		for params, ok := c.logs.take(); ok; params, ok = c.logs.take() {
			var m mcp.LoggingMessageParams
			if mcp.Unmarshal(params, &m) == nil {
				c.runCallback("OnLog", func() { c.o.OnLog(m) })
			}
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

// askForLogs sends the log level to a legacy server that declares logging. It returns after the
// request was sent, so that a later [Client.SetLogLevel] takes effect.
func (c *Client) askForLogs(ctx context.Context) {
	level := *c.level.Load()
	if level == "" || c.session.Load().capabilities.Logging == nil {
		return
	}
	pending, err := c.peer.Start(ctx, mcp.MethodSetLevel,
		&call{params: &mcp.SetLevelParams{Level: level}, meta: c.meta.Load()})
	c.background(func() {
		if err == nil {
			limited, cancel := c.callContext()
			defer cancel()
			err = pending.Wait(limited, nil)
		}
		if err != nil && !errors.Is(err, rpc.ErrClosed) && c.ctx.Err() == nil {
			c.warn("the server refuses the log level", slog.Any("error", err))
		}
	})
}

// callContext returns the context of a request that the client makes by itself.
func (c *Client) callContext() (context.Context, context.CancelFunc) {
	if c.o.CallTimeout < 0 {
		return context.WithCancel(c.ctx)
	}
	return context.WithTimeout(c.ctx, c.o.CallTimeout)
}
