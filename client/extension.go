package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/client/internal/queue"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Extension returns the settings with which the server declares an extension, a JSON object. It
// reports false if the server does not declare it, or if the settings are not an object. The caller
// must not modify the settings.
func (c *Client) Extension(id string) (settings json.RawMessage, declared bool) {
	s := c.session.Load()
	if !extensionCapability(id).in(s) {
		return nil, false
	}
	return s.capabilities.Extensions[id], true
}

// CallExtension is [Client.Call] for a method of an extension. If the server does not declare the
// extension, it sends nothing and fails with [ErrUndeclared].
func (c *Client) CallExtension(ctx context.Context, id, method string, params any,
	opts ...CallOption) (json.RawMessage, error) {
	if err := c.require(extensionCapability(id), method, ""); err != nil {
		return nil, err
	}
	return c.Call(ctx, method, params, opts...)
}

// NotifyExtension sends a notification of an extension. It may return before the server has
// received it. While too much waits to be sent, it blocks until ctx ends. The error is a
// [*CallError]; it matches [ErrUndeclared] if the server does not declare the extension.
func (c *Client) NotifyExtension(ctx context.Context, id, method string, params any) error {
	if err := c.require(extensionCapability(id), method, ""); err != nil {
		return err
	}
	err := c.notify(ctx, method, &call{params: params, meta: c.meta.Load()})
	if err != nil {
		return &CallError{Server: c.o.Name, Method: method, Err: c.connectionError(ctx, err)}
	}
	return nil
}

// extensionHandler returns the handler of a method of an extension that was negotiated, or nil.
func (c *Client) extensionHandler(method string) inputHandler {
	for _, e := range c.o.Extensions {
		handle := e.Methods[method]
		if handle == nil {
			continue
		}
		if s := c.session.Load(); s == nil || !extensionCapability(e.ID).in(s) {
			return nil
		}
		return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			var result any
			var err error
			call := func() { result, err = handle(ctx, params) }
			if failure := contain.Run(call); failure != nil {
				c.logCallbackPanic("Extension.Methods of "+e.ID, failure)
				return nil, failure
			}
			if err != nil {
				return nil, err
			}
			raw, err := mcp.Marshal(result)
			if err == nil && (len(raw) == 0 || raw[0] != '{') {
				err = errors.New("the result is not a JSON object")
			}
			return raw, err
		}
	}
	return nil
}

// routeExtensions routes the notifications of extensions to a queue, which is for
// Options.OnNotification as well.
func (c *Client) routeExtensions() {
	handled := c.o.OnNotification != nil
	for _, e := range c.o.Extensions {
		handled = handled || len(e.Notifications) > 0
	}
	if !handled {
		return
	}
	c.extensions = queue.New(
		func(n extensionNotification) int { return len(n.method) + len(n.params) }, c.background,
		c.deliverExtensions)
	for i := range c.o.Extensions {
		e := &c.o.Extensions[i]
		for method := range e.Notifications {
			c.routes[method] = func(params []byte) {
				c.extensions.Put(extensionNotification{e, method, bytes.Clone(params)})
			}
		}
	}
}

// deliverExtensions calls the handlers of the notifications in the queue, also those of a
// connection that has ended.
func (c *Client) deliverExtensions() {
	for {
		n, ok, dropped := c.extensions.Take()
		if dropped > 0 {
			c.warn("notifications were dropped: their handlers are too slow",
				slog.Int("dropped", dropped))
		}
		if !ok {
			return
		}
		if n.extension == nil {
			c.runCallback("OnNotification", func() { c.o.OnNotification(n.method, n.params) })
			continue
		}
		if s := c.session.Load(); s == nil || !extensionCapability(n.extension.ID).in(s) {
			continue
		}
		c.runCallback("Extension.Notifications of "+n.extension.ID,
			func() { n.extension.Notifications[n.method](n.params) })
	}
}
