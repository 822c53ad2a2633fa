package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// An Interceptor wraps the handling of calls, for example for audit, metrics, limits or
// authorization. It is the one type for this: the same function can be in [Options].Interceptors,
// for operations on every surface; in the Interceptors of server.Options, for the tools, prompts
// and resources of a server of MCP; and in the Interceptors of gateway.Options, for the calls of a
// gateway to its servers. In each list the first is the outermost.
//
// From the outermost to the innermost, a call passes
//
//  1. the Middleware of server.Options, an rpc.Middleware, which gets the message;
//  2. the Interceptors of server.Options, which get the tool, prompt or resource;
//  3. if that is an operation or a function with Go types: the Interceptors of [Options], and then
//     the operation;
//  4. if it belongs to a server of a gateway: the Interceptors of gateway.Options, the Outgoing of
//     the client's options, again an rpc.Middleware, and then that server.
//
// Its result passes them in the reverse order. A command line and an HTTP API begin at 3, and a
// gateway whose tools are operations continues with 4 inside the operation. The functions of
// rpc.Hooks observe the messages outside of all of these, and change nothing.
//
// An interceptor may return a result or an error without calling next, and may call next again when
// it has returned. It must be safe for concurrent use, return when the context ends, and pass next
// its context or one that derives from it. A panic has the effect of a panic of what is called.
type Interceptor func(next Handler) Handler

// A Handler runs a call and returns its result.
//
// The result of an operation is an [Envelope], also if the operation has failed; an interceptor
// that replaces it must return an Envelope, with any code of the catalog. Everywhere else it is a
// *server.Result. An error refuses the call:
//
//   - For an operation, an error that is or wraps an [*Error] is that of the envelope; every other
//     error is treated like one of the operation.
//   - For a tool of a server, an error that is or wraps an [*Error] becomes a result with isError
//     and the message of the error. Every other error follows the rules of server.Resource.Read.
//   - In a gateway, the text of the error is sent to the client, except for one that matches
//     server.ErrAsked, whose question is, and one of the code [TooManyRequests], which is sent as
//     by a server. One that matches [NotFound] makes a resource an unknown one.
type Handler func(ctx context.Context, i *Invocation) (Result, error)

// A Result is the result of a call: an [Envelope] or a *server.Result.
type Result interface {
	// JSON returns the result. The caller must not modify it.
	JSON() json.RawMessage
	// IsError reports whether it is the result of a call that has failed.
	IsError() bool
}

// An Invocation is a call of an operation that exists, or of a tool, prompt or resource that exists
// and that the client may see, as interceptors get it. An interceptor passes it, or a copy of it,
// to next; it may have replaced Arguments, whose bytes must not be modified, by other JSON. They
// are not validated yet. Changes of other fields have no effect.
type Invocation struct {
	Kind   string // "operation", "tool", "prompt" or "resource": see also mcp.Kind
	Name   string // the operation's name, that of the tool or prompt, or the URI of the resource
	Server string // in a gateway, the ID of the server whose own name Name is
	// Definition is that of a tool or prompt of a server of a gateway, as it is offered but for its
	// name; nil: it is not known.
	Definition json.RawMessage
	Arguments  json.RawMessage
	Principal  string // the authenticated caller, as [PrincipalFrom] returns it
	RequestID  string // see [Call]; for a client of MCP, the JSON text of the id of its request
	Surface    string // see [Call]

	// Operation is the operation that runs; in a server, for a tool of its catalog only.
	Operation *Operation
	// Call is what the surface passed to the dispatcher, if Kind is "operation". An interceptor may
	// change it, except for its Arguments; those of the Invocation count.
	Call *Call
	// InFlight says that a gateway has sent the call already, because of an earlier request of the
	// client, which this one continues with answers. Arguments have no effect any more.
	InFlight bool
	// Composite says that the tool is one of a gateway's own, which makes calls to its server that
	// pass the interceptors themselves: it reads a resource or gets a prompt.
	Composite bool

	run Handler
}

var errNoInvocation = errors.New(
	"dispatch: an interceptor called next without its Invocation or a copy of it")

// Chain returns the handler that passes a call through all interceptors, of which the first is the
// outermost, to the function that [Invocation.Run] got. It returns nil if there are none.
func Chain(all []Interceptor) (outermost Handler) {
	for _, intercept := range slices.Backward(all) {
		if outermost == nil {
			outermost = runInvocation
		}
		outermost = intercept(outermost)
	}
	return outermost
}

// runInvocation is the innermost handler.
func runInvocation(ctx context.Context, i *Invocation) (Result, error) {
	if i == nil || i.run == nil {
		return nil, errNoInvocation
	}
	return i.run(ctx, i)
}

// Run passes the call through interceptors, a [Chain], to run, which makes it with the Arguments
// that they left. It is for what offers interceptors, as a [Dispatcher] does for operations.
func (i *Invocation) Run(ctx context.Context, chain, run Handler) (Result, error) {
	i.run = run
	return chain(ctx, i)
}
