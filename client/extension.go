package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/client/internal/queue"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/extensionid"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Extension is an optional addition to MCP (SEP-2133) that the client declares to servers of
// both eras. Its handlers are called only if the server declares it too.
type Extension struct {
	// ID identifies the extension, as in com.example/maps: labels separated by dots, a slash and a
	// name (2026-07-28, Versioning, "Extension Negotiation").
	ID string
	// Settings encode as the JSON object that the client declares; nil: an empty object.
	Settings any
	// Methods are the handlers of the requests that the extension adds for legacy servers, by
	// method; modern servers send no requests. A handler may run concurrently with itself. The
	// result must encode as a JSON object. If the error is an [*rpc.Error], the server gets it; any
	// other error is logged, and the server gets -32603 "Internal error".
	Methods map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	// Notifications are the handlers of notifications of the server, by method. They are called in
	// order, one at a time. At most 256 notifications, 1 MiB in all, are buffered; then the oldest
	// are dropped.
	Notifications map[string]func(params json.RawMessage)
}

// checkExtensions returns an error if an extension is invalid.
func checkExtensions(all []Extension) error {
	ids := map[string]bool{mcp.ExtensionTasks: true}
	methods, notifications := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		if _, err := extensionid.Settings(e.ID, e.Settings); err != nil {
			return err
		}
		if ids[e.ID] {
			return fmt.Errorf("the extension %s is declared twice", e.ID)
		}
		ids[e.ID] = true
		for name, handler := range e.Methods {
			if name == "" || handler == nil || methods[name] || extensionid.IsMethod(name) {
				return fmt.Errorf(
					"the extension %s: the method %q is empty or taken, or its handler is nil", e.ID,
					name)
			}
			methods[name] = true
		}
		for name, handler := range e.Notifications {
			if name == "" || handler == nil || notifications[name] || extensionid.IsMethod(name) {
				return fmt.Errorf(
					"the extension %s: the notification %q is empty or taken, or its handler is nil",
					e.ID, name)
			}
			notifications[name] = true
		}
	}
	return nil
}

// extensionCapability returns the capability for the declaration of an extension by a server.
func extensionCapability(id string) capability {
	return capability{"extensions." + id, func(s *session) bool {
		settings := s.capabilities.Extensions[id]
		return len(settings) > 0 && settings[0] == '{'
	}}
}

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
			err := error(nil)
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

type extensionNotification struct {
	extension *Extension // nil: for Options.OnNotification
	method    string
	params    []byte
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
