// Package api is the HTTP surface of a catalog: a handler that takes calls of its operations as
// JSON, and describes them in OpenAPI.
//
//	dispatcher := dispatch.Options{}.New(catalog)
//	log.Fatal(http.ListenAndServe("127.0.0.1:8080", api.Options{}.New(dispatcher)))
//
// Each service is a path. The body says which of its operations is called, and how:
//
//	$ curl -sd '{"action":"get","params":{"id":"7"}}' \
//	    -H 'Content-Type: application/json' 127.0.0.1:8080/v1/note
//	{"success":true,"data":{"text":"Buy milk."},"error":null}
//
//	$ curl -sd '{"action":"delete","params":{"id":"7"}}' \
//	    -H 'Content-Type: application/json' 127.0.0.1:8080/v1/note
//	{"success":false,"data":null,
//	 "error":{"code":"confirmation_required","message":"…","details":null,"recoverable":true}}
//
// # Routes
//
//	POST /v1/{service}      a call: {"action":"…","params":{…},"instance":"…",
//	                        "session":"…","confirm":true}
//	GET  /v1/manifest       the catalog, as [dispatch.Catalog.Manifest] has it
//	GET  /v1/openapi.json   the same as an OpenAPI 3.1 document
//
// The operation of a call is the service, a dot and the action; the action is left out for an
// operation without a dot in its name. Missing params are {}. instance and session set the argument
// of that name, for operations that have one. confirm is required for an operation that cannot be
// undone: it says that a person, or a policy on a person's behalf, agrees. Keys are case-sensitive;
// an unknown or repeated key is refused.
//
// The documents have an ETag and are generated again only after the catalog has changed.
//
// # Answers
//
// The answer to a call is the envelope of package dispatch ([dispatch.Envelope.AppendJSON]), with
// status 200 for success and the HTTP status of the code for an error (see [dispatch.CodeInfo]). A
// request that is refused before it becomes a call gets an envelope, too:
//
//	400  invalid_input      the body is not JSON, or not of the form above
//	401  permission_denied  [Options].Principal does not know the caller
//	403  permission_denied  a page of another origin, or a Host that [Options].AllowedHosts lacks
//	404  unknown_operation  there is no such path
//	405  invalid_input      the path is for the methods in the header Allow
//	408  timeout            the body did not arrive within 30 seconds
//	413  invalid_input      the body exceeds [Options].MaxBody, or the memory of one caller
//	415  invalid_input      the Content-Type is not application/json, or the body is compressed
//	429  state_error        the caller has used its share of the requests or of the memory
//	503  state_error        no request or no memory is left for any caller
//
// 429 and 503 have a Retry-After header; the status 429 of an operation's error has it if the
// details of the error have a retryAfterMs. If the memory has no room for the answer of a call, the
// call has run, and the message says so. 503 is also the status of an operation's error that
// matches [dispatch.ErrBusy].
//
// The header X-Request-Id of a request, up to 128 visible ASCII characters, names the request in
// the log and is repeated in the answer. Without it the handler generates one.
//
// # Mounting
//
// The handler serves the paths above. To serve them below another path, use [http.StripPrefix]; the
// paths in the OpenAPI document do not change.
//
// # Time
//
// A call's context ends when its client disconnects, or after the timeout of the operation or of
// [dispatch.Options]. A request body has to arrive within 30 seconds. An answer is written in
// pieces of 256 KiB: the client has to read each within 30 seconds, and all of them within 30
// seconds and one more second for each 32 KiB, at most 2 minutes. ReadTimeout and WriteTimeout of
// the [http.Server] replace these limits if they are set; WriteTimeout includes the time of the
// call. ReadHeaderTimeout, IdleTimeout and the number of connections are up to the server.
//
// # Memory
//
// Request bodies, and answers that the client has not read yet, share [Options].Memory. Each
// principal has at most a share of it: see [dispatch.Budget]. A body that does not fit is refused
// before it is read.
//
// # Browsers
//
// Pages of other origins cannot make calls (see [http.CrossOriginProtection]; they cannot send the
// content type either) and get no CORS header. On a loopback address, the handler accepts only the
// host names of loopback addresses, so that no web site can reach it by its own host name (DNS
// rebinding).
package api
