package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/extensionid"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/results"
)

// An Extension is an optional addition to MCP (SEP-2133). The server declares it to clients of both
// eras. The addition exists only for clients with which the extension was negotiated: clients that
// declare it too, in initialize or with each modern request. For other clients its methods are
// unknown, its items do not exist, and definitions lack its _meta.
//
// Items belong to an extension by their field Extension: see [RawTool], [Resource] and
// [ResourceTemplate].
type Extension struct {
	// ID identifies the extension, as in com.example/maps: labels separated by dots, a slash and a
	// name (2026-07-28, Versioning, "Extension Negotiation").
	ID string
	// Settings encode as the JSON object that the server declares; nil: an empty object.
	Settings any
	// ServerOnly means that clients need not declare the extension: the declaration of the server
	// is enough.
	ServerOnly bool
	// Accepts reports whether the settings that a client declares, a JSON object, are sufficient;
	// nil accepts any. It is called for requests, so it must be fast, and safe for concurrent use.
	// The settings are valid until it returns.
	Accepts func(settings json.RawMessage) bool
	// Methods are the handlers of the extension's requests, by method. The params are valid until
	// the handler returns. The result must encode as a JSON object; in the modern era the server
	// adds resultType and its name, unless the result has them. The handler may use everything that
	// a handler of a [Resource] may use, and its errors follow the rules of [Resource].Read. It
	// must be safe for concurrent use.
	Methods map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	// Notifications are the handlers of notifications from clients, by method. The next message of
	// the client waits for the handler, so it must not block. A panic is logged.
	Notifications map[string]func(ctx context.Context, params json.RawMessage)
	// Meta are keys of _meta in the definitions of lists. The server removes them for clients with
	// which the extension was not negotiated.
	Meta []string
}

// ClientExtension returns the settings with which the client of a request declares an extension, a
// JSON object. It reports false if the client does not declare it, if its settings are not an
// object, or if ctx does not belong to a request. A handler may retain the settings.
func ClientExtension(ctx context.Context, id string) (settings json.RawMessage, declared bool) {
	r := requestFrom(ctx)
	if r == nil {
		return nil, false
	}
	settings, declared = r.era.Extension(id)
	return bytes.Clone(settings), declared
}

// NotifyExtension sends a notification of an extension to the client of a request. It may return
// before the client has received it. While too much waits to be sent, it blocks until ctx ends. The
// error is [ErrNoRequest] outside of a request. It matches [ErrUnsupported] if the extension was
// not negotiated with the client, or if the client does not declare an extension with ServerOnly.
func NotifyExtension(ctx context.Context, id, method string, params any) error {
	r, err := extensionRequest(ctx, id)
	if err != nil {
		return err
	}
	return r.link.Notify(ctx, method, params)
}

// CallExtension sends a request of an extension to the legacy client of a request, and blocks until
// the client responds or ctx ends. The errors are those of [NotifyExtension]. A modern client
// cannot be called, so for it the error matches [ErrUnsupported].
func CallExtension(ctx context.Context, id, method string, params, result any) error {
	r, err := extensionRequest(ctx, id)
	if err == nil && r.era.Modern {
		err = fmt.Errorf("server: %s: a client of revision %s cannot be called: %w", method,
			r.era.Revision, ErrUnsupported)
	}
	if err != nil {
		return err
	}
	return r.link.Call(ctx, method, params, result)
}

func extensionRequest(ctx context.Context, id string) (*request, error) {
	r := requestFrom(ctx)
	if r == nil {
		return nil, ErrNoRequest
	}
	// a client that does not declare a ServerOnly extension does not know its messages
	_, declared := r.era.Extension(id)
	if !declared || !r.negotiated(id) {
		return nil, fmt.Errorf("server: the extension %s was not negotiated: %w", id,
			ErrUnsupported)
	}
	return r, nil
}

// An extension is an [Extension] of a server, or one of the built-in extensions.
type extension struct {
	Extension
	settings json.RawMessage
	// offered reports whether the server declares it; nil: always
	offered func(*era.Era, declaredKinds) bool
	methods map[string]method
	// undeclared returns the error for a client that does not declare it; nil: the method is
	// unknown
	undeclared func() error
}

// extensions holds the extensions of a server. It is never modified.
type extensions struct {
	byID          map[string]*extension
	methods       map[string]*extension
	notifications map[string]*extension
	withMeta      []*extension
}

// add adds an extension. It returns an error if the extension is invalid.
func (all *extensions) add(x *extension) (err error) {
	if x.settings, err = extensionid.Settings(x.ID, x.Settings); err != nil {
		return err
	}
	x.settings = bytes.Clone(x.settings)
	if all.byID[x.ID] != nil {
		return fmt.Errorf("the extension %s is declared twice", x.ID)
	}
	if x.methods == nil {
		x.methods = make(map[string]method, len(x.Methods))
	}
	for name, handler := range x.Methods {
		if name == "" || handler == nil || extensionid.IsMethod(name) {
			return fmt.Errorf(
				"the extension %s: the method %q is empty or taken, or its handler is nil", x.ID,
				name)
		}
		x.methods[name] = method{legacy: true, modern: true, handle: extensionMethod(handler)}
	}
	for name := range x.methods {
		if all.methods[name] != nil {
			return fmt.Errorf("the extension %s: the method %q is taken", x.ID, name)
		}
		all.methods[name] = x
	}
	for name, handler := range x.Notifications {
		if name == "" || handler == nil || all.notifications[name] != nil ||
			extensionid.IsMethod(name) {
			return fmt.Errorf(
				"the extension %s: the notification %q is empty or taken, or its handler is nil",
				x.ID, name)
		}
		all.notifications[name] = x
	}
	for _, key := range x.Meta {
		if err := extensionid.CheckMetaKey(key); err != nil {
			return fmt.Errorf("the extension %s: %w", x.ID, err)
		}
	}
	if len(x.Meta) > 0 {
		all.withMeta = append(all.withMeta, x)
	}
	all.byID[x.ID] = x
	return nil
}

func newExtensions(declared []Extension) (*extensions, error) {
	all := &extensions{byID: map[string]*extension{}, methods: map[string]*extension{},
		notifications: map[string]*extension{}}
	err := errors.Join(all.add(tasksExtension()), all.add(appsExtension()),
		all.add(skillsExtension()))
	for _, e := range declared {
		// the application may modify its maps later
		e.Methods, e.Notifications, e.Meta = maps.Clone(e.Methods), maps.Clone(e.Notifications),
			slices.Clone(e.Meta)
		err = errors.Join(err, all.add(&extension{Extension: e}))
	}
	return all, err
}

// metaIsOffered reports whether an extension with keys of _meta is declared, so that lists differ
// between clients.
func (s *Server) metaIsOffered() bool {
	has := s.declaredKinds()
	return slices.ContainsFunc(s.extensions.withMeta,
		func(x *extension) bool {
			return x.offered == nil || x.offered(&era.Era{Modern: true}, has)
		})
}

// isOffered reports whether the server declares the extension in an era. The capabilities of a
// replicated client are unknown after initialize, so no extension can be negotiated with it.
func (x *extension) isOffered(e *era.Era, has declaredKinds) bool {
	return (x.ServerOnly || !e.Replicated) && (x.offered == nil || x.offered(e, has))
}

// declared returns the extensions of the server's capabilities, or nil.
func (all *extensions) declared(e *era.Era, has declaredKinds) map[string]json.RawMessage {
	var declared map[string]json.RawMessage
	for id, x := range all.byID {
		if x.isOffered(e, has) {
			if declared == nil {
				declared = map[string]json.RawMessage{}
			}
			declared[id] = x.settings
		}
	}
	return declared
}

// negotiated reports whether the server offers an extension and the client of the request supports
// it.
func (r *request) negotiated(id string) bool {
	s := r.conn.server
	x := s.extensions.byID[id]
	if x == nil || !x.isOffered(r.era, s.declaredKinds()) {
		return false
	}
	if x.ServerOnly {
		return true
	}
	settings, declared := r.era.Extension(id)
	if !declared || x.Accepts == nil {
		return declared
	}
	accepted := false
	s.runCallback("Extension.Accepts of "+id, func() { accepted = x.Accepts(settings) })
	return accepted
}

// permits reports whether an item of this extension exists for the client. "" means no extension.
func (r *request) permits(extension string) bool {
	return extension == "" || r.negotiated(extension)
}

// extensionMethod returns the row of the method table for the method of an extension, or the error
// for a client that does not declare the extension.
func (r *request) extensionMethod() (m method, ok bool, err error) {
	s := r.conn.server
	x := s.extensions.methods[r.Method]
	if x == nil {
		return m, false, nil
	}
	m = x.methods[r.Method]
	switch {
	case !m.in(r.era) || !x.isOffered(r.era, s.declaredKinds()):
		return m, false, nil
	case r.negotiated(x.ID):
		return m, true, nil
	case x.undeclared != nil:
		return m, false, x.undeclared()
	}
	return m, false, nil
}

// extensionMethod returns the function of the method table for the handler of an extension.
func extensionMethod(
	handler func(context.Context, json.RawMessage) (any, error)) func(*request) (*Result, error) {
	return func(r *request) (*Result, error) {
		if err := r.readInputResponses(); err != nil {
			return nil, err
		}
		result, err := handler(r, json.RawMessage(r.Params))
		if err != nil {
			return r.handlerError(err)
		}
		text, err := mcp.Marshal(result)
		if err == nil && !results.IsObject(text) {
			err = fmt.Errorf("the result of %s is not a JSON object", r.Method)
		}
		if err != nil {
			return nil, r.logError(err)
		}
		if r.era.Modern {
			text = r.conn.server.results.Complete(text)
		}
		return NewResult(text), nil
	}
}

// notifyExtension handles a notification of an extension.
func (s *Server) notifyExtension(ctx context.Context, c *Conn, link Link, req *rpc.Request) {
	x := s.extensions.notifications[req.Method]
	if x == nil {
		return
	}
	r := &request{Context: ctx, Request: req, conn: c, link: link}
	defer r.close()
	if r.link == nil {
		r.link = outgoing.None{}
	}
	if r.params.Read(r.Params) != nil {
		return
	}
	var err error
	if r.era, err = era.Classify(r.Method, &r.params.Meta, c.legacy.Load()); err != nil ||
		!r.negotiated(x.ID) {
		return
	}
	s.runCallback("Extension.Notifications of "+x.ID,
		func() { x.Notifications[req.Method](r, json.RawMessage(req.Params)) })
}

// hiddenMeta returns the keys of _meta that the client of the request does not get.
func (r *request) hiddenMeta() (keys []string) {
	s := r.conn.server
	for _, x := range s.extensions.withMeta {
		if x.isOffered(r.era, s.declaredKinds()) && !r.negotiated(x.ID) {
			keys = append(keys, x.Meta...)
		}
	}
	return keys
}
