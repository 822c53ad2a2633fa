// Package server implements an MCP server for clients of every protocol revision, over any stream
// or transport.
//
//	s := server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil)
//	server.AddTool(s, mcp.Tool{Name: "weather"},
//		func(ctx context.Context, in Query) (Report, error) { … })
//	err := s.ServeStdio(ctx)
//
// # What a server offers
//
// [AddTool] offers a Go function as a tool: the types of the function become its schemas, and the
// arguments are validated before it runs. [Server.AddResource], [Server.AddResourceTemplate],
// [Server.AddPrompt], [Server.AddSkills] and [Server.AddApp] offer the other things that MCP knows,
// and [Server.AddRawTool] offers a tool whose schema is not that of a Go type. The methods return
// an error and replace what has the same name or URI. [Must] panics with that error, for a program
// that adds everything when it starts; AddTool panics by itself. Items can be added and removed
// while clients are connected, and the clients are notified. [Options].Visible decides for each
// request what its client may see and use.
//
// A catalog of operations (package dispatch), the second argument of New, is offered as tools as
// well. It adds what tools of MCP lack: one description for several surfaces, a closed set of error
// codes, confirmations, and sessions. Results and errors of operations reach the client as an
// envelope.
//
// # Two eras
//
// A client of the modern era (2026-07-28) states its revision and capabilities in each request, and
// the server remembers nothing about it. A client of the legacy era (2024-11-05 to 2025-11-25)
// opens with initialize; what is negotiated then is valid until the stream ends. The server serves
// both at once, without an option, and tells them apart by each message: a request whose _meta
// names a revision is modern, whatever came before it.
//
// # Asking the client
//
// A handler may ask: [Elicit] and [Ask] the user, [Sample] the model, [Roots] for directories. The
// same handler serves both eras. For a legacy client it waits for the answer. For a modern one it
// ends with an error that matches [ErrAsked], which it must return, and runs again from its start
// when the client repeats the request with the answer; so whatever must not happen twice belongs
// after the question, or into [Once]. What the server needs to know in between travels with the
// client, encrypted by [Options].StateKey, and is valid for 15 minutes, for one principal and one
// request. The server keeps no list of what it has received: within that time a client may send it
// again.
//
// # Order
//
// On a stream, notifications are handled in the order of arrival, and a request after all
// notifications before it. Requests run concurrently, so handlers must be safe for concurrent use,
// and responses may come in any order. Only initialize is answered before the next message is
// handled. Over HTTP each message is a separate POST, and concurrent POSTs have no order: a client
// that needs one waits for the response, or for the status 202 of a notification.
//
// # Errors and panics
//
// A tool that fails has a result with IsError, which the model reads; everything else that fails is
// an error of JSON-RPC, and so is an [*rpc.Error] of a raw tool. The text is the one that the
// handler chose, by [dispatch.Errorf], [dispatch.ShowError] or [rpc.Errorf], which have this effect
// in every handler. The text of any other error goes to the log only, unless [Options].ShowErrors
// is set, and that of a panic always. A panic ends its request and nothing else; [Options].Hooks
// hear of it.
//
// # Audit, limits, extensions
//
// [Options].Interceptors wrap each use of a tool, prompt or resource. [Options].Middleware wraps
// each message, lists and the handshake included, and [Options].Hooks only observe;
// [dispatch.Interceptor] has the order of all. Package rpc
// bounds the memory that one client can make the server use, [Options].Memory what all of them can.
// Changes coalesce: a client that does not read receives one notification of each kind when it
// reads again, and delays no other client.
//
// An [Extension] adds methods, notifications and keys of _meta that MCP does not define. Its
// additions exist only for clients that declare it too, unless ServerOnly is set. Tasks are built
// in: a tool whose Execution permits it, or an operation that [TaskOptions].For selects, is
// answered at once and continues, and the client polls, answers and cancels it. [Server.Close] ends
// the tasks that still run.
//
// # Transports
//
// [Server.Serve] and [Server.ServeStdio] serve streams; package streamable serves HTTP. Another
// transport passes messages one by one: see [Integration], [Conn.Handle] and [Link].
package server
