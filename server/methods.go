package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/results"
)

// A method is a row of a method table. To add a method to the server, add a row.
type method struct {
	// the eras that have the method; in the table methods, those of package mcp
	legacy, modern bool
	needs          func(declaredKinds) bool // what the server must declare; nil: nothing
	handle         func(r *request) (*Result, error)

	extension string // the ID of the built-in extension that has it; "": none
	// undeclared returns the error for a client that does not declare the extension; nil: the
	// method is unknown
	undeclared func() error
}

func (m method) in(e *era.Era) bool { return e.Modern && m.modern || !e.Modern && m.legacy }

// methods is the table of the methods of MCP. It is read only.
var methods = withEras(map[string]method{
	mcp.MethodDiscover:   {handle: discover},
	mcp.MethodInitialize: {handle: initialize},
	mcp.MethodPing:       {handle: ping},
	mcp.MethodSetLevel:   {handle: setLevel},
	mcp.MethodListen:     {handle: listen},

	mcp.MethodListTools: {handle: pages(mcp.KindTool)},
	mcp.MethodCallTool:  {handle: callTool},

	mcp.MethodListResources:         {needs: hasResources, handle: pages(mcp.KindResource)},
	mcp.MethodListResourceTemplates: {needs: hasResources, handle: pages(mcp.KindResourceTemplate)},
	mcp.MethodReadResource:          {needs: hasResources, handle: readResource},
	mcp.MethodSubscribe:             {needs: hasResources, handle: subscribe},
	mcp.MethodUnsubscribe:           {needs: hasResources, handle: unsubscribe},

	mcp.MethodListPrompts: {needs: hasPrompts, handle: pages(mcp.KindPrompt)},
	mcp.MethodGetPrompt:   {needs: hasPrompts, handle: getPrompt},

	// the experimental tasks of 2025-11-25; for the modern era see extensionMethods
	mcp.MethodGetTask:    {needs: hasTasks, handle: getTask},
	mcp.MethodCancelTask: {needs: hasTasks, handle: cancelTask},
	mcp.MethodTaskResult: {needs: hasTasks, handle: taskResult},
	mcp.MethodListTasks:  {needs: hasTasks, handle: listTasks},

	mcp.MethodComplete: {needs: hasCompletions, handle: complete},
})

// extensionMethods is the table of the methods of the built-in extensions. It is read only.
var extensionMethods = map[string]method{
	// tasks extension, "Capability Negotiation"
	mcp.MethodGetTask: {modern: true, handle: getTask,
		extension: mcp.ExtensionTasks, undeclared: errNeedsTasks},
	mcp.MethodUpdateTask: {modern: true, handle: updateTask,
		extension: mcp.ExtensionTasks, undeclared: errNeedsTasks},
	mcp.MethodCancelTask: {modern: true, handle: cancelTask,
		extension: mcp.ExtensionTasks, undeclared: errNeedsTasks},

	mcp.MethodListSkills: {legacy: true, modern: true, handle: listSkills,
		extension: mcp.ExtensionSkills},
	mcp.MethodGetSkill: {legacy: true, modern: true, handle: getSkill,
		extension: mcp.ExtensionSkills},
	mcp.MethodReadDirectory: {legacy: true, modern: true, handle: readDirectory,
		extension: mcp.ExtensionSkills},
}

// addedMethod is the row of each method of Options.Extensions.
var addedMethod = method{legacy: true, modern: true, handle: callExtension}

// withEras returns a table with the eras in which package mcp has each method, those of extensions
// left out.
func withEras(table map[string]method) map[string]method {
	for _, revision := range mcp.Supported() {
		for defined := range mcp.Methods(revision) {
			m, ok := table[defined.Name]
			if !ok || defined.Extension != "" {
				continue
			}
			modern := mcp.EraOf(revision) == mcp.Modern
			m.modern, m.legacy = m.modern || modern, m.legacy || !modern
			table[defined.Name] = m
		}
	}
	return table
}

func hasResources(has declaredKinds) bool   { return has.resources }
func hasPrompts(has declaredKinds) bool     { return has.prompts }
func hasCompletions(has declaredKinds) bool { return has.completions }
func hasTasks(has declaredKinds) bool       { return has.tasks }

// notifications maps methods to the handlers of notifications. It is read only. Unknown
// notifications are ignored, as JSON-RPC requires; package rpc handles notifications/cancelled.
var notifications = map[string]func(*Conn, *rpc.Request){
	mcp.NotificationInitialized:      initialized,
	mcp.NotificationRootsListChanged: rootsChanged,
}

// row returns the row of the tables for a request, or the error for a method that does not exist
// for its client: one that the server does not have, or one of an extension that the client does
// not declare.
func (r *request) row() (method, error) {
	s := r.conn.server
	m, ok := methods[r.Method]
	if ok && m.in(r.era) && (m.needs == nil || m.needs(s.declaredKinds())) {
		return m, nil
	}
	m, ok = extensionMethods[r.Method]
	x := s.extensions.byID[m.extension]
	if !ok {
		m, x = addedMethod, s.extensions.methods[r.Method]
	}
	switch {
	case x == nil || !m.in(r.era) || !x.isOffered(r.era, s.declaredKinds()):
	case r.negotiated(x.ID):
		return m, nil
	case m.undeclared != nil:
		return m, r.modernError(m.undeclared())
	}
	return m, methodNotFound(r.Method, r.era)
}

func methodNotFound(name string, e *era.Era) error {
	if m, ok := methods[name]; ok && m.legacy && e.Modern {
		return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %s is not part of revision %s",
			name, e.Revision)
	}
	return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: %.100s", name)
}

// callExtension answers a request with the handler of an extension.
func callExtension(r *request) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	s := r.conn.server
	result, err := s.extensions.methods[r.Method].Methods[r.Method](r, json.RawMessage(r.Params))
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
		text = s.results.Complete(text)
	}
	return NewResult(text), nil
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
