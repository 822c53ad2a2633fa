// Package rpchttp speaks JSON-RPC 2.0 over HTTP: a POST has a request, a notification or a batch as
// its body, and the HTTP response has what the server returns.
//
// A [Handler] serves the methods of an [rpc.Router], or of any other [rpc.Handler]:
//
//	var router rpc.Router
//	rpc.Handle(&router, "add", func(ctx context.Context, terms []int) (int, error) { ... })
//	http.Handle("/rpc", rpchttp.HandlerOptions{}.New(router.Serve))
//
// A [Client] calls them:
//
//	client := rpchttp.ClientOptions{}.New("http://localhost:8080/rpc")
//	var sum int
//	err := client.Call(ctx, "add", []int{1, 2}, &sum)
//
// HTTP carries calls of the client only: a handler has no [rpc.Peer] to call back. For calls of
// both sides use a stream (package rpc), for MCP package streamable of server and client.
//
// # Status codes
//
// The status is 200 (OK) if the body of the response is a JSON-RPC response, also if that is an
// error, such as one about a malformed message. It is 204 (No Content) if there is none: the body
// had notifications only. These have been served by then. A request that HTTP itself refuses has
// one of the statuses below. Its body is then a JSON-RPC error with the id null.
//
//	400 Bad Request                the body ends early
//	403 Forbidden                  a browser sent it for a page of another origin, or the Host
//	                               is not allowed
//	405 Method Not Allowed         not a POST
//	408 Request Timeout            the body takes more than 30 s, or the server's ReadTimeout
//	413 Content Too Large          HandlerOptions.MaxBody, or more of MaxMemory than a sender may
//	                               ever use
//	415 Unsupported Media Type     the body is compressed, or its Content-Type is not
//	                               application/json, application/json-rpc or
//	                               application/jsonrequest
//	429 Too Many Requests          the sender's share of MaxRequests or MaxMemory
//	503 Service Unavailable        HandlerOptions.MaxRequests or MaxMemory, or the Handler shuts
//	                               down
//
// # Batches
//
// The requests of a batch run concurrently, up to 16 at a time. A notification runs to its end
// before the messages after it start. The responses are in the order of the requests.
//
// The package is separate from rpc so that a program without HTTP does not link net/http.
package rpchttp
