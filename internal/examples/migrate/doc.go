// Package migrate has no code. It is the page that stdwire help migrate prints:
//
// coming from mcp-go, go-sdk, jrpc2 or sourcegraph/jsonrpc2
//
// Requests run concurrently here: a handler that was called by one request at a
// time needs a lock, or Ordered: see (2). Packages are below
// github.com/stdwire/stdwire; the types of MCP are in rpc/mcp, not in mcp.
//
// # Seven things to decide first
//
//	(1) Errors. The text of an ordinary error, such as fmt.Errorf("no note %q", id),
//	    is not shown to the other side: errors can contain secrets. A test that
//	    calls the handler itself does not notice.
//	      MCP: the text goes to the log, and the client reads that it is withheld.
//	        To show all texts, as the other libraries do:
//	        server.Options{ShowErrors: true}. To show one, in any handler:
//	        dispatch.Errorf(code, …), dispatch.ShowError(err), rpc.Errorf(code, …),
//	        or server.ResourceNotFound(uri).
//	      package rpc: the other side reads "Internal error"; the text goes to
//	        rpc.Hooks.Call and to middleware, and nowhere else. To show all texts:
//	        rpc.Options{Handler: rpc.ShowErrors(router.Serve)}. To show one:
//	        rpc.Errorf(code, …).
//	(2) Order. A peer of package rpc runs requests concurrently, as AsyncHandler
//	    does. For one after the other, as HandlerWithError does in
//	    sourcegraph/jsonrpc2:
//	      rpc.Options{Ordered: func(string) bool { return true }}
//	    While an ordered handler runs, nothing that was sent after its request is
//	    handled: if it calls the other side, the other side must not wait for an
//	    answer first. Notifications are always ordered. An MCP server has no such
//	    option: its handlers need locks.
//	(3) Questions. Pass the error of server.Elicit, Sample and Roots on with %w, not
//	    %v (with %v the client is asked too, and the log complains), and do nothing
//	    before it that must not happen twice, or wrap that in server.Once: for a
//	    client of 2026-07-28 the handler ends with this error and runs again with
//	    the answer. The key of a question is unique in its handler.
//	(4) Tags. A description is doc:"…", or that of a tag jsonschema of go-sdk or
//	    invopop; what else such a tag says is refused at start, with the tag to
//	    write for it. A field is required unless it has omitempty, omitzero or a
//	    default, or is a pointer.
//	(5) Names of JSON. A key must be exactly the name of its field or of its json
//	    tag, on both sides: "sky" does not fill an untagged field Sky, in arguments
//	    and params as in results, and no error says so.
//	(6) Unknown and null arguments are refused, with a text that lets a model
//	    correct its call. server.Options.Dispatch.Lenient accepts them, and takes
//	    "2" for a number, "true" for a boolean and one value for an array.
//	(7) Environment. client.Spawn gives a server a short list of variables, without
//	    credentials. client.Command.InheritEnv adds others; "*" is all.
//
// # A checklist
//
//	(1) Before: record what clients see, with a test of the old program, or
//	      stdwire ls tools -o json -- OLD-SERVER > old.json
//	(2) Port, with the table below. Handlers that ignore the library move as they
//	    are.
//	(3) After: compare (titles and descriptions should be the same; schemas gain
//	    additionalProperties false, and lose annotations that have the default)
//	      stdwire ls tools -o json -- NEW-SERVER > new.json
//	    and keep it: mcptest.Golden(t, c, "testdata/server.json") in a test, which
//	    writes the file with MCPTEST_UPDATE=1.
//	(4) Call the tools that fail on purpose, and read what a model would read
//	    (see (1) above):
//	      stdwire call TOOL id=missing -- NEW-SERVER
//	(5) go test -race: handlers run concurrently now (see (2) above).
//	(6) Look for what clients will complain about:
//	      stdwire doctor -- NEW-SERVER
//	      stdwire scan -- NEW-SERVER
//	(7) Serve old clients: client.Options{Era: mcp.Legacy} in a second test. Save
//	    calls with expectations, and repeat them with
//	      stdwire test calls.json -- NEW-SERVER
//
// # Servers of MCP
//
//	server.NewMCPServer(name, version, …), mcp.NewServer(&impl, opts)
//	    server.Options{…}.New(server.Info{Name: …, Version: …}, nil)
//	s.AddTool(mcp.NewTool(…), handler), mcp.AddTool(s, &tool, handler)
//	    server.AddTool(s, mcp.Tool{…}, func(ctx, In) (Out, error)): a function;
//	    resources and prompts are added by methods, whose error says what of a
//	    definition is invalid: server.Must panics with it
//	s.AddTool of go-sdk, with a schema of your own
//	    s.AddRawTool(server.RawTool{…}), checked by server.Must
//	mcp.WithString, Required, Description, Enum, DefaultNumber, Min, Max
//	    fields of In with the tags json, doc, enum, default, min, max, …
//	    (see dispatch/schema)
//	req.RequireString("x"), req.GetInt("n", 3), BindArguments
//	    in.X; default:"3" in the tag of N
//	mcp.NewToolResultText(s)
//	    return s, nil
//	mcp.NewToolResultStructured(v, text), a typed Out
//	    return v, nil: structured content, and its JSON as text. For a text of
//	    your own return server.Structured[T]{Value: v, Content: …}
//	mcp.NewToolResultError(s), IsError: true
//	    return dispatch.Errorf(dispatch.NotFound, …): the model reads its text,
//	    without the text of errors around it; only the operations of a catalog
//	    carry the code. Or return &mcp.CallToolResult{IsError: true, Content: …}
//	return fmt.Errorf(…)
//	    see (1) above
//	mcp.TextContent{…}, NewTextContent, NewImageContent
//	    mcp.Text(s), mcp.Image(data, mimeType), mcp.Audio(data, mimeType), as
//	    []mcp.Content
//	mcp.TextResourceContents, BlobResourceContents
//	    mcp.ResourceContents: Text, or Blob as []byte
//	s.AddResource(r, handler)
//	    server.Must(s.AddResource(server.Resource{Resource: mcp.Resource{…},
//	    Read: …}))
//	s.AddResourceTemplate(t, handler)
//	    server.Must(s.AddResourceTemplate(server.ResourceTemplate{…})): values
//	    are matched
//	s.AddPrompt(p, handler)
//	    server.Must(s.AddPrompt(server.Prompt{…})): arguments are
//	    map[string]string
//	CompletionHandler, one for all
//	    Complete of each prompt and template: a server.Completer
//	s.DeleteTools, RemoveTools
//	    s.Remove(mcp.KindTool, names…)
//	WithToolFilter, session tools
//	    server.Options.Visible
//	AddReceivingMiddleware, AddSendingMiddleware
//	    server.Options.Middleware, Outgoing; a result is a *server.Result
//	WithHooks, WithToolHandlerMiddleware
//	    server.Options.Interceptors, Hooks
//	WithRecovery, WithLogging
//	    built in
//	session.Log, SendLogMessageToClient
//	    server.Logger(ctx), a slog.Logger; server.Log
//	NotifyProgress, SendNotificationToClient("notifications/progress", …)
//	    server.Progress(ctx, done, total, message)
//	SendNotificationToAllClients(method, …)
//	    s.NotifyAll(ctx, method, params), to legacy clients; s.ResourceUpdated;
//	    lists announce their changes themselves. For modern clients a method of
//	    your own belongs to a server.Extension: server.NotifyExtension
//	session.Elicit, CreateMessage, ListRoots; RequestElicitation, RequestSampling
//	    server.Elicit or server.Ask (a form from a Go type), server.Sample,
//	    server.Roots
//	ServerSession.Ping
//	    server.Ping(ctx), to legacy clients only: the modern era has no ping
//	server.ServeStdio(s), s.Run(ctx, &mcp.StdioTransport{})
//	    s.ServeStdio(ctx)
//	NewStdioServer(s).Listen(ctx, in, out), IOTransport
//	    s.Serve(ctx, rpc.Stream(in, out))
//	NewStreamableHTTPServer(s), NewStreamableHTTPHandler
//	    streamable.New(s), an http.Handler with Serve(ctx, listener)
//	WithStateLess, Stateless
//	    streamable.Options{Stateless: true} of server/streamable, for legacy
//	    clients; those of 2026-07-28 need nothing. With Replicas instead, legacy
//	    clients have sessions that any replica serves
//	NewSSEServer, SSEHandler
//	    streamable.Options{HTTPSSE: true}; WithBaseURL is PublicURL
//	WithHTTPContextFunc, auth.RequireBearerToken
//	    streamable.Options.Authorize and streamable.Caller; server/auth
//	LoggingTransport
//	    server.Options.Hooks.Frame, or stdwire tap
//
// # Clients of MCP
//
//	NewStdioMCPClient + Initialize, CommandTransport + Connect
//	    client.Spawn(ctx, path, args…), client.Options.Spawn(ctx,
//	    client.Command{…})
//	NewStreamableHttpClient, NewSSEMCPClient, WithHTTPHeaders
//	    client.Connect(ctx, streamable.Dial(url)),
//	    streamable.Options{Header: …}.Dial(url) of client/streamable; it finds
//	    out which of the two the server has
//	NewInProcessClient, NewInMemoryTransports
//	    mcptest.Connect(t, s, client.Options{}) in a test; else net.Pipe,
//	    s.Serve(ctx, one) on a goroutine, and client.Connect(ctx,
//	    client.Stream(other))
//	ListTools + NextCursor, cs.Tools
//	    c.Tools(ctx), an iter.Seq2: pages are followed, the last element may have
//	    the error; client.All(c.Tools(ctx)) is a slice
//	CallTool, ReadResource, GetPrompt
//	    c.CallTool(ctx, name, args), client.CallAs[T], c.ReadResource(ctx, uri),
//	    c.GetPrompt(ctx, name, args)
//	res.Content[0].(mcp.TextContent).Text, mcp.AsTextContent
//	    res.Content[0].(*mcp.TextContent).Text; client.CallAs[string] returns the
//	    text, and a *client.ToolError if the tool has failed. c.CallTool returns
//	    such a failure as a result with IsError, never as an error
//	c.Ping
//	    c.Ping(ctx)
//	OnNotification, ToolListChangedHandler
//	    client.Options.OnToolsChanged, OnListChanged, OnLog, OnResourceUpdated;
//	    OnNotification for any other method, or a client.Extension
//	SamplingHandler, ElicitationHandler, RootsHandler
//	    client.Options.OnSample, OnElicit, OnRoots
//	GetStderr(c)
//	    client.Command.Stderr, c.StderrTail()
//	an interface of the client, for mocks
//	    mcptest.Script, or mcptest.Connect with a server.New
//
// # JSON-RPC
//
//	sourcegraph: jsonrpc2.NewConn(ctx, NewBufferedStream(rwc,
//	VSCodeObjectCodec{}), h); jrpc2: server.Start(channel.LSP(r, w))
//	    rpc.Options{Framing: framing.ContentLength,
//	    Handler: …}.New(stream); a stream is rpc.Stdio(), rpc.Stream(r, w), or
//	    a net.Conn
//	PlainObjectCodec, channel.Line
//	    the default framing: one message a line
//	jsonrpc2.HandlerWithError(f), AsyncHandler(h)
//	    see (2) above; a handler is func(ctx, *rpc.Request) (any, error), see
//	    rpc.Handler, and rpc.Router has one for each method
//	switch req.Method { … json.Unmarshal(*req.Params, &p) }
//	    may stay: rpc.Request.Params are bytes, empty if there are none, and your
//	    json.Unmarshal keeps its rules for keys. They are valid until the handler
//	    returns: what outlives it, such as a goroutine, needs
//	    bytes.Clone(req.Params). Or, with the rules of (5):
//	    rpc.Handle(&router, method, func(ctx, P) (R, error)),
//	    rpc.HandleNotification(&router, method, func(ctx, P) error)
//	handler.Map{"m": handler.New(f)}, NewPos(f, "a", "b")
//	    rpc.Handle(&router, "m", f), rpc.Handle(&router, "m", f, "a", "b")
//	a handler that gets conn, and replies later
//	    rpc.PeerFromContext(ctx); a handler may take its time before it returns
//	    the result, on a goroutine of its own. conn.Close is rpc.Peer.Close
//	return nil, &jsonrpc2.Error{Code: …}
//	    return nil, rpc.Errorf(code, format, …)
//	conn.Call(ctx, m, p, &r), conn.Notify
//	    peer.Call(ctx, m, p, &r), peer.Notify: rpc.Peer.Call, rpc.Peer.Notify.
//	    r is filled by the rules of (5)
//	<-conn.DisconnectNotify(), srv.Wait()
//	    rpc.Peer.Wait, which returns io.EOF if the other side has closed;
//	    rpc.Peer.Closed is a channel
//	cli.Batch, Concurrency, AllowPush
//	    rpc.Peer.Batch and rpc.Options.Batch, rpc.Limits.MaxRunning; both sides
//	    may always call
//	jhttp.NewBridge, jhttp.Channel
//	    rpchttp.HandlerOptions, rpchttp.ClientOptions
//	server.Loop(NetAccepter)
//	    socket.Options.ListenAndServe
//	rpc.cancel, $/cancelRequest
//	    rpc.Options.Cancellation; lsp.Cancellation
//	LogMessages, RPCLog
//	    rpc.Options.Hooks.Frame; its direction is rpc.Inbound or rpc.Outbound
//	the ways in which editors start a server: stdio, pipe, socket
//	    lsp.Open
//
// # What clients see change
//
// Bad arguments are a result with isError, which models read, not a protocol
// error. A resource that is not found is -32002 or, for clients of 2026-07-28,
// -32602. Lists of a kind that the server does not have are an error, -32601, not
// empty. capabilities.logging is always declared. A schema has
// additionalProperties false, so models learn of arguments that do not exist. A
// nil slice in a structured result is [], not null.
package migrate
