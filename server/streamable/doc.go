// Package streamable serves MCP over HTTP: Streamable HTTP in both eras on one endpoint, and if wanted the HTTP+SSE of 2024-11-05 too.
//
//	h := streamable.Options{}.New(server)
//	err := http.ListenAndServe("127.0.0.1:8080", h)
//
// # One endpoint, two eras
//
// Every message of a client is a POST of its own. What it says settles its era, so that clients of both share the address, the process and the server:
//
//	POST ─► Host, Origin ─► Principal ─► body, read and scanned once ─┬─► modern: _meta or the header says 2026-07-28
//	                                                                  │     headers = body?  400 -32020
//	                                                                  │     answered and forgotten; gone client = cancelled
//	                                                                  └─► legacy: Mcp-Session-Id
//	                                                                        initialize makes the session, DELETE ends it
//	                                                                        runs on when the client is cut off
//
// The answer is JSON if nothing was said before it, and a stream of events otherwise; a stream also where the answer takes longer than [Options].Heartbeat, so
// that nobody in between loses patience. A client that does not accept streams gets the answer alone, and cannot be asked anything.
//
// # Modern requests
//
// Nothing is kept from one request to the next. Any of several servers behind a load balancer may answer, if they share a [server.Options].StateKey. A
// subscription is a request that lasts: its stream is open until the client closes it, or [Handler.Shutdown] ends it with its result.
//
// # Legacy sessions
//
// A session has streams, and each message of the server goes to exactly one:
//
//	POST tools/call ◄── stream 3: progress, questions to the client, the response
//	GET             ◄── stream 4: what belongs to no request, such as notifications/tools/list_changed
//	GET, Last-Event-ID: 3-2
//	                ◄── stream 3, from behind its second event, until its response
//
// Events have the ids STREAM-EVENT. The last ones of a session are kept, so a client that was cut off misses nothing if it is back in time; a handler that takes
// long may send the client away on purpose, with [CloseStream]. What belongs to no request waits, and is told once, until there is a stream for it. The
// client's answers come by POST, and find the call of the server by the session and its id.
//
// # Bounds
//
// Bodies, requests, streams, sessions, what is kept, and how long anybody is waited for: all has a limit, in [Options] or below.
//
//	a body that does not come               30 s, then 408
//	a client that reads slowly              30 s for each 256 KiB of an answer or event; for all of it 30 s and one more for each 32 KiB, 2 minutes at most; then it is cut
//	a client that does not read a stream    its request waits with 1 MiB or 1024 events, until the stream is cut
//	a modern client that is cut off         the request is cancelled
//	a legacy one                            the request goes on, and its stream is kept within bounds
//	a legacy session that is not used       30 minutes, then 404
//
// Each principal has a share of requests, streams, sessions and memory, so that one who takes all
// it can get leaves room for others: at most half of what they leave. Over its share it gets 429,
// and where nothing is left everybody gets 503, with the error -31999 and a Retry-After.
//
// Memory is that of the server, see [server.Options].Memory. A body takes from it before it is
// read, if it is larger than 64 KiB, and so does what an operation asks for with dispatch.Reserve;
// the answer takes the place of both until it has been read, and what is kept of streams is counted
// too. A call whose answer finds no room has run: its error says so, how large the answer was, and
// how much room there is.
//
// Time for a request's head is the [http.Server]'s to limit, with ReadHeaderTimeout. A ReadTimeout is kept to instead of the 30 s for a body. A WriteTimeout does
// nothing: it would be for the whole of an answer, and of a stream.
package streamable
