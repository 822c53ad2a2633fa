// Package api is the HTTP surface of a catalog: a handler that takes calls of its operations as
// JSON, and describes them in OpenAPI.
//
//	dispatcher := dispatch.NewDispatcher(catalog, dispatch.Options{})
//	log.Fatal(http.ListenAndServe("127.0.0.1:8080", api.New(dispatcher)))
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
// operation without a dot in its name. What is left out of params, or all of them, is as if {} was
// sent. instance and session are for operations that take an argument of that name, and stand for
// it. confirm says that whoever is responsible wants just this to happen, where it cannot be
// undone. Keys are matched to the letter; one that is not known, or is there twice, is refused.
//
// The documents have an ETag and are made anew only when the catalog has changed.
//
// # Answers
//
// Every answer to a call is the envelope of package dispatch ([dispatch.Envelope.AppendJSON]),
// whatever went wrong, with the HTTP status of the code (see [dispatch.CodeInfo]) and 200 for
// success. What is refused before it is a call has an envelope, too:
//
//	400  invalid_input      the body is not JSON, or not of the form above
//	401  permission_denied  [Options].Principal does not know the caller
//	403  permission_denied  a page of another web site, or an unknown Host (see [Options].AllowedHosts)
//	404  unknown_operation  there is no such path
//	405  invalid_input      the path is for other methods; Allow has them
//	408  timeout            the body did not come within 30 seconds
//	413  invalid_input      the body is larger than [Options].MaxBody, or than one caller's memory
//	415  invalid_input      the body is not said to be application/json, or is compressed
//	429  state_error        the caller uses its whole share of the requests or of the memory
//	503  state_error        nothing of these is left for anybody
//
// 429 and 503 have a Retry-After. A call whose answer found no room in the memory has run; its
// message says so. 503 is also the status of an operation's error that matches [dispatch.ErrBusy].
//
// The header X-Request-Id of a request (up to 128 visible ASCII characters, otherwise one is made
// up) names it in the log, and is in the answer.
//
// # Mounting
//
// The handler wants to see the paths above. To have them elsewhere use [http.StripPrefix]; the
// paths in the OpenAPI document stay as they are.
//
// # Time
//
// A call's context ends when its client disconnects; how long an operation may take is for
// [dispatch.Options] and its spec to say. A request body has to come within 30 seconds. An answer
// is written in pieces of 256 KiB: each has to be read within 30 seconds, and all of them within 30
// seconds and a second more for each 32 KiB, but within 2 minutes at most. A server's ReadTimeout
// and WriteTimeout take their place where they are set; mind that the latter includes the time of
// the call. ReadHeaderTimeout, IdleTimeout and the number of connections are for the server to set.
//
// # Memory
//
// Bodies that are received and answers that wait to be read share [Options].Memory, of which a
// principal has a part at most: see package quota. What does not fit is refused, before it is read
// where it is a body.
//
// # Browsers
//
// Pages of other origins cannot make calls ([http.CrossOriginProtection], and the content type that
// they must send), and get no CORS header. A server on a loopback address answers only to the names
// of one, so that no web site can reach it by a name of its own (DNS rebinding).
package api
