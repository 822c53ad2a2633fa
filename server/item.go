package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
)

// An item is an element of a list, in the form in which requests use it: what depends on how it was
// added was determined then.
type item struct {
	items.Item
	use      useFunc
	complete Completer // nil: no suggestions
	of       *item     // the template or skill that an unlisted resource belongs to

	server, own string // see Item.Server

	tool     *tool       // of a tool
	template *template   // of a resource template
	skill    *skillEntry // of a skill
}

// A useFunc runs the call of an item with these arguments. ctx is the request or derives from it.
type useFunc func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error)

type (
	listing    = items.Listing[*item]
	collection = items.Collection[*item]
)

// newItem returns an item whose definition is the same in both eras.
func newItem(kind mcp.Kind, key string, definition []byte) *item {
	return &item{Item: items.New(kind, key, definition)}
}

// itemError returns the error of a method that adds an item; nil for nil.
func itemError(kind mcp.Kind, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("server: %s %.200q: %w", kind, key, err)
}

// Must panics with err if it is not nil. It is for the items that a program adds when it starts:
//
//	server.Must(s.AddPrompt(server.Prompt{Prompt: prompt, Get: get}))
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// add adds an item, or replaces the one with the same key, and notifies clients.
func (s *Server) add(i *item) {
	if i.complete != nil {
		s.completions.Store(true)
	}
	s.added[i.Kind].Add(i)
	s.listChanged(i.Kind.Info().ListChanged)
}

// Remove removes the items of a kind with these names, URIs or URI templates, which methods of the
// server or [AddTool] have added, and returns their number.
func (s *Server) Remove(kind mcp.Kind, keys ...string) (removed int) {
	if kind == mcp.KindApp {
		return s.removeApps(keys)
	}
	c := s.added[kind]
	if c == nil {
		return 0
	}
	if removed = c.Remove(keys); removed > 0 {
		s.listChanged(kind.Info().ListChanged)
	}
	return removed
}

// find returns the item that the client uses by a key of this kind, or nil if there is none that
// the client may see. If no provider has the item, find calls the function Await of [Upstreams],
// and looks once more unless that returns one. exists reports whether there is one then.
func (r *request) find(kind mcp.Kind, key []byte) (found *item, exists bool, err error) {
	if found, exists = r.lookUp(kind, key); !exists {
		if found, err = r.awaitMissing(kind, key); found != nil {
			return found, true, nil
		}
		if err == nil {
			r.owned.Store(nil)
			r.withheld.Store(nil)
			found, exists = r.lookUp(kind, key)
		}
	}
	return found, exists, err
}

// lookUp is find without waiting.
func (r *request) lookUp(kind mcp.Kind, key []byte) (found *item, exists bool) {
	for _, p := range r.conn.server.providers[kind] {
		if i := p.Find(r, kind, key); i != nil {
			if exists = true; r.maySee(i) {
				return i, true
			}
		}
	}
	return nil, exists
}

// An Origin says what an item is, for those who decide who may see it.
type Origin struct {
	// Server is the ID of the other server that has the item, and Name its own name or URI of it;
	// see [Item].
	Server, Name string
	// Definition is that in lists; nil: it is in no list. Of a URI that belongs to a template or
	// skill, Server and Definition are those of the template or skill, and Name is "".
	Definition json.RawMessage
	Operation  *dispatch.Operation // of the catalog, if the item is its tool
}

// Origin returns what is known of the item that the client of the request in ctx uses by a key,
// whether it may see it or not. ok is false if the server has none, not even one that is withheld
// (see [Upstreams]).
func (i Integration) Origin(ctx context.Context, kind mcp.Kind, key string) (o Origin, ok bool) {
	for _, p := range i.s.providers[kind] {
		if found := p.Find(ctx, kind, []byte(key)); found != nil {
			o = Origin{Server: found.server, Name: found.own, Definition: found.Definition}
			if found.of != nil {
				o.Server, o.Definition = found.of.server, found.of.Definition
			}
			if found.tool != nil {
				o.Operation = found.tool.operation
			}
			return o, true
		}
	}
	if w := i.s.withheld(ctx, kind).byKey[key]; w != nil {
		return w.Origin, true
	}
	return o, false
}

// maySee reports whether an item exists for the client.
func (r *request) maySee(i *item) bool {
	return (i.of == nil || r.maySee(i.of)) && r.permits(i.Extension) &&
		r.conn.server.visible(r, i.Kind, i.Key)
}

// MaySee reports whether the client of the request in ctx may see an item, as [Options].Visible
// says. It is true if ctx belongs to no request.
func MaySee(ctx context.Context, kind mcp.Kind, key string) bool {
	r := requestFrom(ctx)
	return r == nil || r.conn.server.visible(r, kind, key)
}

func (s *Server) visible(r *request, kind mcp.Kind, key string) bool {
	return s.o.Visible == nil || s.o.Visible(r, kind, key)
}

// The errors about a faulty interceptor.
var (
	errNotJSON   = errors.New("server: an interceptor set arguments that are not JSON")
	errNotResult = errors.New("server: an interceptor returned a result that is not a JSON object")
)

// use runs the call of an item within the interceptors, with the arguments as they have left them.
func (r *request) use(i *item, arguments json.RawMessage) (*Result, error) {
	if err := r.readInputResponses(); err != nil {
		return nil, err
	}
	chain := r.conn.server.interceptors
	if chain == nil {
		return r.run(r, i, arguments)
	}
	var (
		made    *Result // the last result of the item
		failure error   // its last error, which has been logged
	)
	call := &dispatch.Invocation{Kind: string(i.Kind), Name: i.Key, Arguments: arguments,
		Principal: r.conn.principal, RequestID: r.ID.String(), Surface: "mcp"}
	if i.tool != nil {
		call.Operation = i.tool.operationFor(arguments)
	}
	result, err := call.Run(r, chain,
		func(ctx context.Context, c *dispatch.Invocation) (dispatch.Result, error) {
			if !jsonscan.Same(c.Arguments, arguments) && jsonscan.Valid(c.Arguments) != nil {
				return nil, errNotJSON
			}
			if made, failure = r.repeat(func(r *request) (*Result, error) {
				return r.run(ctx, i, c.Arguments)
			}); failure != nil {
				return nil, failure
			}
			return made, nil
		})
	if err == nil {
		own, ok := result.(*Result)
		if !ok || own == nil || own != made && !own.isValid() {
			return nil, r.logError(errNotResult)
		}
		return own, nil
	}
	if err == failure {
		return nil, err
	}
	return r.errorResponse(err)
}

// run runs an item, and asks the client the questions that are pending then if it has failed.
func (r *request) run(ctx context.Context, i *item, arguments json.RawMessage) (*Result, error) {
	result, err := i.use(ctx, r, arguments)
	if !r.asks() || err == nil && (result == nil || result.Type() == mcp.ResultInputRequired) {
		return result, err
	}
	log := r.conn.server.log.With("method", r.Method, "name", i.Key)
	if err == nil && !result.IsError() {
		log.Warn("a handler has returned a result in place of the error of a question that it asked; the client is not asked: return that error, wrapped with %w if at all")
		return result, nil
	}
	log.Warn("a handler has hidden the error of a question that it asked; the client is asked all the same, but wrap it with %w",
		"error", err)
	return r.inputRequired()
}
