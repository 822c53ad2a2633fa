// Package auth makes an MCP server over HTTP a protected resource of OAuth, as MCP's authorization
// specification requires: clients discover the authorization server, and the server accepts access
// tokens issued for it, within their scopes.
//
//	verify, err := auth.JWTOptions{
//		Issuer:   "https://auth.example.com",
//		Audience: "https://mcp.example.com/mcp",
//	}.New()
//	resource, err := auth.Options{
//		Resource:             "https://mcp.example.com/mcp",
//		AuthorizationServers: []string{"https://auth.example.com"},
//		Verify:               verify,
//		Scopes:               []string{"mcp"},
//	}.New()
//	mux.Handle("/mcp", streamable.Options{Authorize: resource.Authorize}.New(server))
//	for _, path := range resource.MetadataPaths() {
//		mux.Handle(path, resource)
//	}
//
// # What a client sees
//
//	POST /mcp                            ─► 401 WWW-Authenticate: Bearer resource_metadata="…",
//	                                            scope="mcp"
//	GET /.well-known/oauth-protected-…   ─► 200 {"resource":…,"authorization_servers":[…]}
//	    (the client gets a token from one of these)
//	POST /mcp, Authorization: Bearer …   ─► 200
//	    tools/call that needs more       ─► 403 WWW-Authenticate: Bearer …,
//	                                            scope="mcp files:write",
//	                                            error="insufficient_scope"
//	    (the client gets a token with both scopes)
//
// The server checks in this order, and answers with the first failure. No operation has started by
// then.
//
//	the token is in the header, once       400 invalid_request
//	a token is present                     401, without an error
//	it is valid, and for this resource     401 invalid_token
//	the verifier could decide              503
//	a bound token has a valid proof        401 invalid_token, invalid_dpop_proof, use_dpop_nonce
//	its scopes suffice for the message     403 insufficient_scope, with all required scopes
//
// # Verifying tokens
//
// A [Verifier] is a function. [JWTOptions] makes one for signed tokens, and fetches the issuer's
// keys; [IntrospectionOptions] makes one that asks the authorization server about each token. For
// other tokens, write one:
//
//	func(ctx context.Context, token string) (*auth.Identity, error) {
//		user, ok := lookup(ctx, token)
//		if !ok {
//			return nil, &auth.TokenError{Reason: "the token is not known"}
//		}
//		return &auth.Identity{Issuer: "https://mcp.example.com", Subject: user}, nil
//	}
//
// # Scopes
//
// Every request requires [Options].Scopes. [Options].MessageScopes returns what a message requires
// in addition, from its method, its subject, such as the name of a tool, and its params.
// [Options].ImpliedScopes lists the scopes that another scope includes. The scopes of a whole
// request are checked at once, on the same parsed messages that are then handled.
//
// # Identity
//
// The principal is the issuer and the subject. Sessions, tasks and the state that clients carry
// belong to it, and other principals cannot access them. Handlers get more from [IdentityFrom]. The
// token itself is passed to no handler and never logged. A server that is a client of another
// server needs a token of its own; it must not forward this one.
//
// # Sender-constrained tokens
//
// Whoever steals a bearer token can use it. With [DPoPOptions], tokens can be bound to a key that
// the client proves to have in each request (RFC 9449). A proof is valid for one method, one
// address, one token, 90 seconds and one use. A bound token is never accepted without a proof.
//
// # Bounds
//
//	token                      16 KiB; 256 scopes
//	documents of the issuer    256 KiB, 5 s, no redirects; 100 keys of at most 8192 bits
//	keys                       fetched by one request at a time: when they are ten minutes old or
//	                           a token names an unknown key, but not within 30 s after one that
//	                           did not bring the wanted key; used for four hours if fetching fails
//	introspection              64 requests at a time, 16 KiB, 5 s; 8,000 results of each kind are
//	                           cached, for 30 s
//	DPoP proofs                8 KiB; 1,000,000 are remembered, beyond which proofs are refused
//	streams and subscriptions  end when the token expires that opened them
package auth
