// Package gateway offers the tools, prompts and resources of many MCP servers as one server.
// Clients and servers of either era work together, and servers can ask a client's user questions.
//
//	s := server.New(server.Info{Name: "all", Version: "1"}, catalog)
//	g := gateway.Options{}.New(s)
//	defer g.Close()
//	err := g.Add(gateway.Upstream{Server: host.Server{ID: "files", Connect: …}})
//	err = s.ServeStdio(ctx)
//
// # The flow of a call
//
//	client ── tools/call files__read ──▶ downstream server
//	                                          │ look up the public name
//	                                          ▼
//	           limit of arguments ▶ Options.Interceptors ▶ session or shared process
//	                                          │ start the server if necessary
//	                                          ▼
//	                                   upstream server "files", tool "read"
//	                                          │ progress, logs, questions go back meanwhile
//	                                          ▼
//	client ◀── result ── audit log ◀ Options.Interceptors ◀ limit of the result
//
// # Limits
//
//	arguments, result of a call    8 MiB each (Upstream.MaxArguments, MaxResult)
//	call without progress          10 min (client.Options.CallTimeout)
//	wait for a restarting server   5 s
//	start and lists of a server    2 min
//	in-flight calls with questions 10,000, shared by principal; 10 min without their client
//	ambiguous question             5 s, then refused
//	cached results                 64 MiB, shared by principal; 8 MiB each
//	lists of users                 64 MiB, shared by principal; a request waits 5 s for them
//	large results that are kept    1,000, 64 MiB and 1 GiB on disk, shared by principal; 1 h
//	roots                          10,000 per server; 5 s wait for a client
//	log messages per client        256 or 1 MiB per server, then the oldest are dropped
//	audit lines not yet written    4 MiB, then lines are dropped and counted
//
// # Names
//
// The public name of a tool or prompt is the ID of its server and its name, "files__read" (see
// [host.PublicName]), and its description begins with "[files] ". Resources and skills keep their
// URIs. The URI of an app (MCP Apps) gets the ID of its server as its authority: "ui://board/page"
// of the server "files" is "ui://files/board/page".
//
// If several servers have one name or URI, it belongs to the first of them in the order of
// [Gateway.Add] or [Gateway.Order], even while that server is slow or down. The items of the others
// are withheld from every list; [Gateway.Withheld] and the log name them. So that no name changes
// its owner, an item that could collide is offered only when all servers that precede its own have
// been listed for the first time, or could not be started. A disabled or removed server loses its
// names. A URI that no server lists is tried, in order, at the servers that list other URIs of its
// scheme.
//
// Definitions are forwarded byte by byte, with two repairs for strict clients, which refuse a whole
// list for one defect: null in an optional member is removed, and the inputSchema of a tool gets
// the type "object". Other invalid definitions are omitted and logged.
//
// Upstream.Overrides changes names, titles, descriptions, annotations and arguments, and hides
// items, which can then not be used either. A name in it takes the place of the server's own, so
// that it gets the same prefix; of two items of a server with one public name, the one that keeps
// its own name is offered. If an argument of a tool is renamed, hidden or gets a value or default,
// the inputSchema is rewritten: its required arguments, references and conditions too. A tool whose
// schema cannot be adapted is withheld, as is one with an app, whose page knows the server's
// arguments. The gateway checks the arguments of such a tool against the new schema, and the server
// gets the form that it declares. Interceptors, pins, filters and the audit log have the server's
// own names and arguments. Members of _meta stay.
//
// With Upstream.AsTools, the tools of a server that has resources or prompts include some of the
// gateway that list, read and get them. A page of a list has at most 100 items and 64 KiB. What
// they read or get is a read or prompt to pins, interceptors and the audit log.
//
// With [Gateway.Offer], more downstream servers offer some of the upstream servers from the same
// processes: one for each group of clients, for example.
//
// # Pins
//
// With Options.PinFile, what has changed since its first use is withheld until the change is
// accepted: a tool, prompt, resource, template or skill. Until then it cannot be used. An item that
// its server did not have at first use is not listed until it is accepted, but a new resource can
// be read, because servers may serve unlisted resources anyway. The first call after a start of the
// server waits until its lists are compared with the pins. A client that finds tools by a search is
// told which of those that fit are withheld so, if it may see them: see [server.Upstreams].
//
// # Calls
//
// Arguments and results of tools, prompts and resources are forwarded byte by byte, except for the
// URIs of apps and for what the era of the client requires: see [server.Item]. So are progress,
// cancellation, the trace context, and those keys of _meta that the protocol does not define. A
// call fails when its server dies; the gateway repeats it only if the tool is declared idempotent
// or read-only.
//
// Items stay in the lists while their server is down. A call waits if the server restarts within
// 5 s and within the call's deadline; otherwise the error says when it restarts. A call of an
// unknown name waits, up to 50 s, for servers that are starting and may have it.
//
// # Large results
//
// Upstream.MaxResultText limits the characters of text in the result of a tool, and
// Options.MaxResultText those for a client: of the text blocks and of the structured content, each
// by itself, because applications show their model one or the other. The client gets a preview of a
// larger result: whole lines of texts, whole elements of arrays, and the largest values shortened
// first. A text that is JSON is shortened as JSON; of a line without an end, 1,000 characters count
// as a line. Both forms say what is left out, the structured content in the member
// "stdwire/preview", which the tool's outputSchema is offered with.
//
// The gateway keeps the whole result for the principal, in memory or, with Options.ResultDir, in an
// encrypted file, and in Options.Results where other gateways read it, too. A new result replaces
// the oldest ones of the same principal if necessary. The client reads on with the tool
// read_result, which the gateway offers while results may be shortened, or by the link to a
// resource in the preview, with a range in its query:
//
//	read_result {"id":"…","pointer":"/structuredContent/rows","offset":200,"limit":100}
//	stdwire-result://…?pointer=/structuredContent/rows&offset=200&limit=100
//
// Errors, results of tasks, questions, and results of tools with an app are not shortened, nor is a
// result without a preview that matches the outputSchema, which is logged. Interceptors and the
// audit log get the whole result, and so do operations.
//
// # Cached results
//
// With Upstream.CacheResults, a call of a tool with readOnlyHint is answered with the result of an
// earlier call with the same arguments, whatever their order and notation, while the definition of
// the tool is the same. While such a call is being made, equal ones wait for its result. A request
// with _meta of the client's own, the trace context apart, is always made. The ttlMs and the
// cacheScope of a result are obeyed if they are narrower than what is configured. The results of a
// server are dropped before and after each call of another one of its tools, and when it says that
// a list or resource has changed. If such a call was cancelled or timed out, its server may still
// be at it: then none is kept for a minute, or for as long as results are kept if that is shorter.
// Not cached are errors, results of calls that asked a question, results of tasks, and those of a
// server with a process for each client or user. Interceptors get cached results too; the lines of
// the audit log have "cached":true.
//
// # Questions, roots and logs
//
// A server's question within a call becomes a question within the client's call, in the client's
// era. While the user of a modern client thinks, the call of a legacy server stays in flight, for
// up to 10 minutes, and only the same client can resume it.
//
// A legacy server does not say to which call a question or a log message belongs. If only one
// client has requests at the server, they go to that client, a question to a modern client only if
// it has one call. Otherwise a log message is dropped, and a question waits until that is so; after
// 5 s it is refused and logged. Set host.PerSession for servers that ask questions: then each
// client has a process to itself.
//
// A roots/list request within a call goes to the call's client, and outside of calls the server
// gets the roots of all connected legacy clients. Log messages outside of requests go to all legacy
// clients that want their level. For a client that does not keep up, the oldest messages are
// dropped, and it is sent their number.
//
// # Sessions
//
// With host.PerSession each client has a process of the server to itself: each connection, and each
// legacy session over HTTP, until it ends. Modern clients over HTTP and callers of operations have
// no session: such a server's items are not in their lists, and their calls fail with
// [ErrNoSession]. One more process without a client serves the lists and their changes.
//
// With host.PerUser each principal has a process or connection to itself, whatever its sessions,
// until it is unused for IdleStop or gives way to another one: see Upstream.User. Requests without
// a principal fail with [ErrNoUser]. The lists of such a server are those of each user's own
// connection. They are cached until the connection ends or says that one of them has changed; only
// clients of that user are told so. Lists are then private and not to be kept. If the connection
// cannot be made, the items of the other servers are listed, and the server is one of those whose
// items are missing. Of the names that other servers have as well, shared ones have precedence,
// whatever their order. Pins are those of the server: what one user sees first is pinned then, and
// a definition that differs from its pin is withheld from the user who sees it. Skills of such a
// server are not offered, and its resources cannot be subscribed to; outside of calls it gets no
// roots, and its log messages are dropped.
//
// # Operations
//
// With Options.Catalog the tools are operations as well, "files.read", for surfaces other than MCP.
// The part before the first dot is the ID of the server, with '_' for '.'. Characters of the tool's
// name that are not letters, digits, '_', '-' or '.' become '_', and so do all its dots if it
// begins or ends with one or has two in a row; a name of more than 128 bytes is truncated. A
// read-only tool has the type read, one with destructiveHint true the type destructive, any other
// the type write; a tool without destructiveHint requires confirmation too, because MCP's default
// is true. Two servers' operations collide if their names differ only in '.' and '_'.
//
// The data of a call is the result's structured content, or else its content; a result that
// contains more is the envelope's original. The errors are upstream_error (the result has isError
// and is the details; or the server returns an error, has ended, or cannot be started), not_found,
// state_error (disabled), not_implemented (a question), blocked (by a limit or an interceptor),
// timeout and cancelled. OnElicit of the host.Server's Options answers questions; without it they
// are refused.
//
// # Control
//
// Arguments and results over Upstream.MaxArguments and MaxResult are refused. Options.Interceptors
// inspect each call, change it or refuse it; [dispatch.Interceptor] has their place among the
// others that a call passes. A call that asks a question passes them once for each round: one of a
// modern server is sent again, and one of a legacy server is in flight
// ([dispatch.Invocation].InFlight). Options.Audit gets a JSON line for each tools/call,
// resources/read and prompts/get when it ends:
//
//	{"time":"2026-01-31T12:00:00.000Z","principal":"ada",
//	 "client":{"name":"editor","version":"1.2"},"session":"7KQ2…","server":"files","tool":"read",
//	 "arguments":[{"name":"path","type":"string","size":7}],"arguments_size":16,
//	 "arguments_hmac":"…","duration_ms":1.25,"outcome":"ok","result_size":120}
//
// The client is what its clientInfo says, which nobody has verified; the session is that of
// [server.ClientFrom]. The line has "offered_as", the public name, if an override has changed the
// name. It describes the first 64 arguments as sent to the server, or as they would have been,
// without values. The digest, HMAC-SHA-256 with Options.AuditKey of the canonical JSON, identifies
// equal arguments without revealing them to a dictionary attack; arguments with a duplicate member
// have none. The outcome is ok, tool_error, error (with its code), refused (with refused_by: limit,
// pin, override for arguments that it does not permit, rate for [dispatch.TooManyRequests], or an
// interceptor before or after the call was made), cancelled, or input_required: the client was
// asked a question, and its answer adds another line, with "resumed":true. Lost lines are counted
// in a line with "dropped".
package gateway
