// Package streamable carries an MCP client's messages over HTTP: the Streamable HTTP transport of 2025-03-26 to 2026-07-28, and HTTP+SSE of 2024-11-05 where a server has
// nothing newer.
//
//	c, err := client.Connect(ctx, streamable.Dial("https://example.com/mcp"))
//
// What the client can do is described there, in package client; it is the same over HTTP as over pipes.
//
// # Messages
//
// Every message is an HTTP request of its own. The answer is JSON, or an event stream on which more may come before it:
//
//	client                                   server
//	request       ── POST, headers ────────►
//	              ◄── JSON, or events ──────  its answer; progress, logs, in the legacy era questions
//	cancelled     ── closes the stream ────►  modern; a legacy server is told by another POST
//	listen        ── POST ─────────────────►
//	              ◄── events ───────────────  changes, as long as the stream is open (modern)
//	(initialized) ── GET ──────────────────►
//	              ◄── events ───────────────  changes and questions, as long as the stream is open (legacy)
//
// In the modern era, the headers repeat the method, the name of the tool, prompt or resource, and those arguments of a tool that its schema marks with
// x-mcp-header, as far as the tool was on a list. A server that misses some refuses the call; the client then looks at the list again, and if it knows more after that calls again.
//
// # Which era
//
// The client asks with server/discover first. An answer that only a modern server gives settles it. A refusal in words of the protocol, or with a status that servers have for
// what they do not understand (400, 404, 405, 415, 500), leads to initialize. If that is refused with 400, 404 or 405 as well, and a GET gives an event stream that begins with the
// event "endpoint", the server is one of HTTP+SSE. A refusal that is about something else, such as 401 or 503, is an error at once, and so is a
// server that cannot be reached.
//
// # Sessions and streams of legacy servers
//
// A server that answers 404 has forgotten the session, and so has one that answers 400 and says
// that it knows of none: the client begins another, and sends the call again, that the server has
// not looked at. Subscriptions and the log level are asked for again, whatever the server tells the
// changes of may have changed, and its questions are taken for taken back. Without a call, a loss
// is noticed by the stream of the GET, and made good for once a minute at most. A stream that
// breaks off before the answer is resumed, if its events have ids: with Last-Event-ID, after the
// time that the server says or 1 s, five times in a row at most if the server cannot be reached.
// Otherwise the call fails, with an error that matches [ErrCut]: it is not sent again, because the
// server may have done what it says. The stream of a GET, if the server offers one, is opened again
// whenever it ends, after the time that the server says or 1 s, and then less and less often if
// nothing comes.
//
// # Errors
//
// A request that fails makes one call fail, and the connection lives on; there is nothing in between that could break, except with HTTP+SSE. In the
// [*client.CallError] there are, beside those of the protocol:
//
//	*StatusError           the server refused with an HTTP status; see there
//	ErrCut                 the connection ended before the answer, or within it
//	*net.OpError and such  there is no connection, with all that the net and tls packages say (within an ErrCut too)
//	rpc.ErrProtocol        an answer that is none: no JSON, another Content-Type, no answer in it
//	framing.ErrTooLarge    an answer over Options.Limits.MaxFrame of the client
//
// # Safety
//
// Redirects are followed only at the same scheme, host and port, and only if the request stays a POST; so headers and arguments get nowhere else. URLs are shown in errors
// without user, query and fragment. The address that an HTTP+SSE server wants messages to be sent to must be at that server.
//
// Every message, event and answer is bounded by Options.Limits.MaxFrame of the client, and what is under way by [Options].MaxCalls. Half of a connection that has gone is
// noticed by TCP's keep-alive, after some minutes, and by the time that calls have.
package streamable
