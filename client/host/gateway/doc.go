// Package gateway offers the tools, prompts and resources of many MCP servers as one server.
// Clients and servers of either era work together, and servers can ask a client's user questions.
//
//	s := server.New(server.Info{Name: "all", Version: "1"}, catalog)
//	g := gateway.New(s)
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
//	roots                          10,000 per server; 5 s wait for a client
//	log messages per client        256 or 1 MiB per server, then the oldest are dropped
//	audit lines not yet written    4 MiB, then lines are dropped and counted
//
// # Names
//
// The public name of a tool or prompt joins its server's ID and its name, "files__read" (see
// [host.PublicNames]), and its description begins with "[files] ". Resources keep their URIs. The
// gateway looks names up in a table and never parses them.
//
// A name or URI that several servers have belongs to the first of them in the order of
// [Gateway.Add], or of [Gateway.Order], even while that server is slow or down. A URI also belongs
// to a server with a template that matches it: such a template collides with the resources, and
// with the overlapping templates, of later servers. Colliding items are withheld from every list;
// [Gateway.Withheld] and the log name them. Where two templates have only some URIs in common, both
// are offered, and the first server answers for the common ones.
//
// Resources and templates are therefore offered only when all servers that precede theirs have been
// listed for the first time or could not be started; without prefixes, tools and prompts too. Names
// in cached lists are reserved from the beginning. A disabled or removed server loses its names.
//
// The URI of an app (MCP Apps) gets the ID of its server as its authority, which no other server
// can take: "ui://board/page" of the server "files" is "ui://files/board/page" in lists, in the
// _meta of tools, and in the content of results and of questions. Text, structured content and
// completions stay unchanged. Clients that do not declare apps get neither the URIs nor the tools
// that only apps may call; such tools do not become operations either. If a host names the app of a
// request in _meta (see [mcp.MetaApp]), the gateway confines the request to the app's server, and
// the request may use that server's own names and URIs. Otherwise, an unknown name of a tool
// belongs to the only server with apps that has such a tool.
//
// A URI is read at the first server that lists it or a template for it. A URI that no server lists
// is tried, in order, at the servers that list other URIs of its scheme.
//
// A skill belongs to the first server that has it or a skill whose directory contains it, unless an
// earlier server has one of its files as a resource or by a template. Its URI and digests stay
// unchanged, and its files are read at its server. skills/get finds only skills in lists.
//
// Definitions are forwarded byte by byte, with two repairs, because strict clients refuse a whole
// list for one such defect: null in an optional member is removed, and the inputSchema of a tool
// gets the type "object". Other invalid definitions are omitted and logged. Legacy clients do not
// get members that their revision lacks: see [server.RawTool].
//
// With [Gateway.Offer], more downstream servers offer some of the upstream servers from the same
// processes: one for each group of clients, for example.
//
// # Pins
//
// With Options.Pins, a tool, prompt, resource, template or skill that has changed since its first
// use is withheld until the change is accepted. Until then a changed resource, a URI that matches a
// changed template, or a file of a changed skill cannot be read either. An item that its server did
// not have at first use is not listed until it is accepted. A new resource can be read, because
// servers may serve unlisted resources anyway. The first call after a start of the server waits
// until its lists are compared with the pins.
//
// # Calls
//
// Arguments and results are forwarded byte by byte, except structured content that is not an
// object, which legacy clients do not get. Progress, cancellation, the trace context and those keys
// of a request's _meta that the protocol does not define are forwarded too; maxArguments limits
// them together with the arguments. A call fails when its server dies; the gateway repeats it only
// if the tool is declared idempotent or read-only.
//
// Items stay in the lists while their server is down. A call waits if the server restarts within
// 5 s and within the call's deadline; otherwise the error says when it restarts. The next call
// starts a server that has failed too often: see package host. A call of an unknown name waits,
// up to 50 s, for servers that are starting and may have it; if such a server is down or cannot be
// started, the error says why.
//
// # Questions
//
// A question of a modern server within a call becomes a question within the client's call, and the
// gateway keeps no state. A legacy server asks while its call is in flight: if the client is
// modern, its request ends with the question, the server's call continues, and the client's next
// request, with the answer, resumes it, within 10 minutes and only from the same client.
//
// A legacy server does not say which call its question belongs to. If a modern client has two calls
// in flight, or several clients have requests in flight, the question waits until only one remains;
// after 5 s it is refused and logged. A legacy client is asked at once. Set host.Server.PerSession
// for servers that ask questions.
//
// # Roots
//
// A roots/list request within a call goes to the call's client; for a client without roots the
// gateway answers with an empty list. Outside of calls a legacy server gets the roots of all
// connected legacy clients, without duplicates, in order of connection. Each client is asked once,
// until it reports a change; servers are notified of that and of clients that connect or
// disconnect. A server waits 5 s for clients that do not answer.
//
// # Logs
//
// A server's log message goes to the client whose requests are in flight, if it wants messages of
// that level: by logging/setLevel or, for a modern client, by its request's _meta. If several
// clients have requests at a shared server, the message is dropped. Messages outside of requests go
// to all legacy clients that want them. The logger's name begins with the server's ID, "files/db".
// A server's level is the most verbose that one of its clients wants. For a client that does not
// keep up, 256 messages or 1 MiB per server are queued; then the oldest are dropped, and the client
// is sent their number.
//
// # Sessions
//
// With host.Server.PerSession each client has a process of the server to itself: each connection,
// and each legacy session over HTTP, until it ends. Modern clients over HTTP and callers of
// operations have no session: such a server's items are not in their lists, and their calls fail
// with [ErrNoSession]. The server sees the roots of its client only, and only that client gets its
// logs. One more process without a client serves the lists and their changes.
//
// # Operations
//
// With Options.Catalog the tools are operations as well, "files.read" (see [host.OperationName]),
// for surfaces other than MCP. They are added and removed with the tools, and a call takes the same
// path. Two servers' operations collide if their names differ only in '.' and '_'. The input schema
// is the tool's; if it does not compile, only the server checks the arguments. A read-only tool has
// the kind read, one with destructiveHint true the kind destructive, any other the kind write; a
// tool without destructiveHint requires confirmation too, because MCP's default is true.
//
// The data of a call is the result's structured content, or else its content. A result that
// contains more is the envelope's original. The errors are upstream_error (the result has isError
// and is the details; or the server returns an error, has ended, or cannot be started), not_found,
// state_error (disabled), not_implemented (a question), blocked (by a limit or an interceptor),
// timeout and cancelled. OnElicit of the host.Server's Options answers questions; without it they
// are refused.
//
// # Control
//
// Arguments and results over Upstream.MaxArguments and MaxResult are refused. Options.Interceptors
// inspect each tool call, change it or refuse it; [dispatch.Interceptor] has their place among the
// others that a call passes. A call that asks a question passes them once for each round: one of a
// modern server is sent again, and one of a legacy server is in flight
// ([dispatch.Invocation].InFlight). Options.Audit gets a JSON line for each tools/call,
// resources/read and prompts/get when it ends:
//
//	{"time":"2026-01-31T12:00:00.000Z","principal":"ada","server":"files","tool":"read",
//	 "arguments":[{"name":"path","type":"string","size":7}],"arguments_size":16,
//	 "arguments_hmac":"…","duration_ms":1.25,"outcome":"ok","result_size":120}
//
// The line describes the first 64 arguments as sent to the server, or as they would have been,
// without values. The digest, HMAC-SHA-256 with Options.AuditKey of the canonical JSON, identifies
// equal arguments without revealing them to a dictionary attack; arguments with a duplicate member
// have none. The outcome is ok, tool_error, error (with its code), refused (with refused_by: limit,
// pin, or an interceptor before or after the call was made), cancelled, or input_required: the
// client was asked a question, and its answer adds another line, with "resumed":true. Lost lines
// are counted in a line with "dropped".
package gateway
