// Package streamable serves MCP over HTTP: Streamable HTTP of both eras on one endpoint and,
// optionally, the HTTP+SSE transport of 2024-11-05.
//
//	h := streamable.New(server)
//	err := http.ListenAndServe("127.0.0.1:8080", h)
//
// # One endpoint, two eras
//
// A client sends each message in a POST of its own. The message determines its era, so clients of
// both eras share the address, the process and the server:
//
//	POST ─► Host, Origin ─► principal ─► body, read and scanned once
//	  │
//	  ├─► modern: _meta or the header says 2026-07-28
//	  │     headers = body? otherwise 400 -32020
//	  │     no state; a disconnect cancels the request
//	  └─► legacy: Mcp-Session-Id
//	        initialize opens the session, DELETE ends it
//	        a disconnect does not cancel the request
//
// A response is JSON if the handler sent no message before it and answered within
// [Options].Heartbeat, and an event stream otherwise. A client that does not accept event streams
// gets the response only; notifications to it are dropped and requests to it fail.
//
// # Modern requests
//
// A modern request leaves no state. Any of several servers behind a load balancer may answer it if
// they share a [server.Options].StateKey. A subscription is a request whose stream stays open until
// the client closes it, its caller's authorization expires, or [Handler.Shutdown] ends it with its
// result.
//
// # Legacy sessions
//
// A session has streams. The server sends each message on exactly one of them:
//
//	POST tools/call ◄── stream 3: progress, requests to the client, the response
//	GET             ◄── stream 4: messages that belong to no request, such as list_changed
//	GET, Last-Event-ID: 3-2
//	                ◄── stream 3, after its second event, until its response
//
// An event's id begins with STREAM-EVENT. The last events of a session are stored, so that a client
// can reconnect and resume a stream. A handler that takes long may close the connection
// deliberately with [CloseStream]. A message that belongs to no request waits for a GET stream and
// is sent once. The client answers a request of the server by POST; the session and the id identify
// the call.
//
// Three options change what a session is. With [Options].Store several servers keep it in a store,
// with the tasks of all clients, and any of them can serve it; with [Options].Forward as well, the
// one that opened it serves it, and the others pass its requests on. With [Options].Replicas its
// client carries it, so that several servers without a store can. With [Options].Stateless there
// are none: a legacy client calls tools/list and tools/call without initialize, and each POST is
// answered by itself, as for curl, functions that run for one request, and simple load balancers.
// What needs a session is refused.
//
// # Message order
//
// HTTP requests are independent, so order holds only within one of them:
//
//	events of one stream        arrive in the order in which the server sent them, the response
//	                            last
//	streams of a session        have no order among each other: a notification on the GET stream
//	                            may arrive before or after a response that was sent earlier
//	requests of a client        start in no particular order and run concurrently; a client that
//	                            needs an order waits for the response to the first
//	a notification of a client  has been handled when its POST is answered with 202, so a later
//	                            POST sees its effect
//	a batch (2025-03-26)        is handled in order, one message at a time
//	subscription events         arrive in order on the stream of subscriptions/listen, in no order
//	                            relative to other responses
//
// On stdio, by contrast, a request sees every notification sent before it.
//
// # Bounds
//
// Bodies, requests, streams, sessions, stored events and waiting times have limits, set in
// [Options] or fixed:
//
//	request body not complete   30 s, then 408
//	response or event not read  30 s for each 256 KiB; for all of it 30 s and 1 s for each 32 KiB,
//	                            at most 2 minutes; then the connection is closed
//	stream not read             at 1 MiB or 1024 unread events its request waits until the client
//	                            reads or its connection is closed
//	modern client disconnects   the request is cancelled
//	legacy client disconnects   the request continues, and the last events of its stream are
//	                            stored
//	legacy session not used     30 minutes, then 404; with a store up to 40 seconds more
//	store not reached           5 seconds, then 503; at once if there is no connection
//	owner of a session gone     20 seconds, then 503; see [Forward]
//	server of a task is gone    15 seconds, with a store; then the task has failed
//
// Each principal has a share of requests, streams, sessions and memory: at most half of what the
// others leave. A principal over its share gets 429; if nothing is left, everybody gets 503. Both
// carry the error -31999 and a Retry-After header.
//
// Large bodies are read a few at a time, about twice as many as there are processors, so that those
// of many clients do not wait for processors in memory. The rest of a body of more than 256 KiB
// waits with its client until it is its turn: first come, first served, and principals one after
// the other. Before that, 64 KiB of it are read, or 256 KiB if its length is not known. A body that
// has not doubled within 10 ms lets another one be read meanwhile, and none waits for more than a
// second each time, so that clients that send slowly hold nobody up. That time counts as the
// client's. Over HTTP/2, where a body that is not read holds up the others of its connection, none
// waits.
//
// Memory belongs to the server: see [server.Options].Memory. A body larger than 64 KiB reserves
// memory before it is read, and an operation reserves memory with dispatch.Reserve. When the
// response exists, both are released, and the size of the response is reserved instead, until the
// client has read it. Stored events count too, rounded down to 4 KiB a session. If there is no
// memory for the response of a call, the call has run nevertheless; its error says so, with the
// size of the response and the memory available.
//
// # The cost of an idle client
//
// A client that opens connections and neither reads nor sends costs, at most:
//
//	before the request's header is complete  one connection of net/http; ended by
//	                                         ReadHeaderTimeout of the [http.Server], which the
//	                                         program must set
//	before the body is complete              one connection and [Options].MaxBody bytes (memory is
//	                                         reserved as bytes arrive, not as the header claims);
//	                                         ended after 30 s or the server's ReadTimeout
//	while the response is written            a place of [Options].MaxRequests, and the response's
//	                                         memory; ended after 30 s to 2 minutes, see Bounds
//	on a GET stream                          a place of [Options].MaxStreams, and 1 MiB or 1024
//	                                         events in memory; ended 30 s after the first write
//	                                         that the client's receive window does not take: the
//	                                         next message or, on a silent stream, a comment, sent
//	                                         every [Options].Heartbeat
//	on subscriptions/listen                  the same place, with comments at the same interval
//	between requests of a legacy session     a session, of which there are [Options].MaxSessions,
//	                                         and in it stored events of up to MaxEventBytes; ended
//	                                         after [Options].SessionIdle
//	between requests of a modern client      nothing but the connection, until IdleTimeout of the
//	                                         [http.Server]
//
// All clients together are limited by these counts, of which a principal has only its share, and in
// bytes by the server's memory. While the operating system still accepts comments into its buffers,
// a stream whose client is alive but does not read stays open.
//
// The [http.Server] limits the time for a request's header with ReadHeaderTimeout. Its ReadTimeout
// replaces the 30 s for a body. Its WriteTimeout has no effect, because it would limit a whole
// response or stream.
package streamable
