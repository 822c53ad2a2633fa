// Package streamable is the HTTP transport of an MCP client: Streamable HTTP of 2025-03-26 to
// 2026-07-28, and HTTP+SSE of 2024-11-05 for servers that offer nothing newer.
//
//	c, err := client.Connect(ctx, streamable.Dial("https://example.com/mcp"))
//
// Package client describes what the client can do; it is the same as over pipes.
//
// # Messages
//
// Each message of the client is a POST of its own. The response to a request is JSON or an event
// stream, on which other messages may precede the response:
//
//	client                             server
//	request       ── POST, headers ──►
//	              ◄── JSON, or SSE ──  response; progress, logs, in the legacy era requests
//	cancelled     ── closes stream ──►  modern; for a legacy server, a POST of its own
//	listen        ── POST ───────────►
//	              ◄── SSE ───────────  notifications while the stream is open (modern)
//	(initialized) ── GET ────────────►
//	              ◄── SSE ───────────  notifications and requests while the stream is open (legacy)
//
// In the modern era, headers repeat the method, the name of the tool, prompt or resource, and the
// arguments that the tool's schema marks with x-mcp-header, if the client has listed the tool. If
// the server refuses a call because headers are missing, the client lists the tools again, and
// repeats the call if that brought new headers.
//
// # Era
//
// The client first sends server/discover. A response that only a modern server sends settles the
// era. A JSON-RPC error, or a status that may be about the message (400 to 501, except 401, 403,
// 407, 408 and 429), leads to initialize. If that is refused with 400, 404 or 405, and a GET
// opens an event stream that begins with the event "endpoint", the server speaks HTTP+SSE. Any
// other refusal, such as 401 or 503, is an error at once, and so is an unreachable server.
//
// # Sessions and resumption
//
// A legacy server that answers 404 no longer knows the session, and neither does one that answers
// 400 or 401 with a message about the session, after it has accepted another message of the same
// session. A 401 with WWW-Authenticate is about authorization only. The client then starts a new
// session and sends the call again, once, which the server has not processed. After a 401 that
// gives no reason at all, although an earlier request was answered, the client tries to start a new
// session: if the server refuses that too, the call fails with the 401. The client restores
// subscriptions and the log level, assumes that everything the server announces has changed, and
// considers the server's requests cancelled. Without a call, the loss is noticed on the GET stream,
// and the session is replaced at most once a minute.
//
// A stream that breaks off before the response is resumed with Last-Event-ID if its events have
// ids: after the server's retry time or 1 s, and up to five times in a row while the server cannot
// be reached. Otherwise the call fails with an error that matches [ErrDisconnected]. It is not sent
// again, because the server may have performed it. The GET stream, if the server offers one, is
// reopened whenever it ends, after the server's retry time or 1 s, and with growing delays while
// nothing comes.
//
// # Errors
//
// A failed request fails one call, and the client stays usable; only HTTP+SSE has a connection that
// can break. Beside the errors of the protocol, a [*client.CallError] can wrap:
//
//	*StatusError           an unsuccessful HTTP status; see its method Is
//	ErrDisconnected        the connection ended before the end of the response
//	*net.OpError etc.      errors of packages net and crypto/tls, also within ErrDisconnected
//	rpc.ErrProtocol        an invalid response: not JSON, another Content-Type, no response in it
//	framing.ErrTooLarge    a message over Options.Limits.MaxFrame of the client
//
// # Security and limits
//
// Redirects are followed only within one origin and only if the request keeps its method, so
// headers and arguments reach no other server. Errors show URLs without user, query and fragment.
// The endpoint that an HTTP+SSE server names must have the origin of the server's URL.
//
// Options.Limits.MaxFrame of the client limits each message, event and body, and [Options].MaxCalls
// the calls in flight.
//
// # Dead connections
//
// A server that has vanished without closing its connections, as after the sleep of a laptop, is
// noticed by pings of HTTP/2 after 13 s, otherwise by TCP after a minute; then the calls in flight
// fail with an error that matches [ErrDisconnected], and are not sent again. If a proxy accepts all
// bytes and HTTP/1.1 is spoken, only the deadlines of calls notice: after a call without any byte
// of the server, the next one uses a new connection. A request without side effects, such as a
// list, is sent again on a new connection after 20 s without a response on an old one.
package streamable
