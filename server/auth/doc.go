// Package auth makes an MCP server over HTTP a protected resource of OAuth, as MCP's authorization has it: clients find out of which authorization server they get
// tokens, and are served with tokens that were issued for this server, to the extent of their scopes.
//
//	verify, err := auth.JWTOptions{Issuer: "https://auth.example.com", Audience: "https://mcp.example.com/mcp"}.New()
//	resource, err := auth.Options{
//		Resource: "https://mcp.example.com/mcp",
//		Servers:  []string{"https://auth.example.com"},
//		Verify:   verify,
//		Scopes:   []string{"mcp"},
//	}.New()
//	mux.Handle("/mcp", streamable.Options{Authorize: resource.Authorize}.New(server))
//	for _, path := range resource.Paths() {
//		mux.Handle(path, resource)
//	}
//
// # What a client sees
//
//	POST /mcp                              ─► 401 WWW-Authenticate: Bearer resource_metadata="…", scope="mcp"
//	GET  /.well-known/oauth-protected-…    ─► 200 {"resource":…,"authorization_servers":[…]}
//	     (it gets a token of one of these)
//	POST /mcp, Authorization: Bearer …     ─► 200
//	     tools/call of more than that      ─► 403 WWW-Authenticate: Bearer …, scope="mcp files:write", error="insufficient_scope"
//	     (it gets a token with both)
//
// The server decides in this order, and the first that fails is the answer. No operation has begun by then.
//
//	the token is in the header, once       400 invalid_request
//	it is there                            401, without an error
//	it is good, and for this resource      401 invalid_token
//	it could be found out                  503
//	it is bound to a key: so is the proof  401 invalid_token, invalid_dpop_proof, use_dpop_nonce
//	its scopes are enough for the message  403 insufficient_scope, with all that are needed
//
// # Verifying tokens
//
// A [Verifier] is a function. [JWTOptions] makes one of tokens that are signed, whose keys it fetches; [IntrospectionOptions] one that asks the authorization server about
// each token. Another is written in a few lines, where tokens are of another kind:
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
// [Options].Scopes are needed for everything. [Options].Needs says what a message needs besides, by its method, its subject, such as the name of a tool, and its
// params. [Options].Implies says that one scope has others in it. What is needed is settled for a whole request at once, from the same reading of it that is then acted on.
//
// # Who is calling
//
// The principal is the issuer and the subject in one. Sessions, tasks, and state that clients carry belong to it: with another's token there is nothing to be found. Handlers learn more of
// [IdentityFrom]. They never see the token, and neither does a log. Where this server is a client of another, it needs a token of its own: this one is for nobody else.
//
// # Tokens that are bound to a key
//
// A stolen bearer token is as good as one's own. With [DPoPOptions], tokens may be bound to a key that a client proves to have with each request (RFC 9449). The proof is for one
// method, one address, one token, a minute and a half, and one use. A token that is bound is never taken without one.
//
// # Bounds
//
//	a token                         16 KiB; 256 scopes
//	documents of the issuer         256 KiB, 5 s, no redirects; 100 keys of at most 8192 bits
//	keys                            fetched when they are ten minutes old or a token names one that is not known, by one request at a time, and not for 30 s after that was for
//	                                nothing; good for four hours if they cannot be
//	questions about tokens          64 at a time, 16 KiB, 5 s; 8,000 answers are kept, for 30 s
//	proofs                          8 KiB; 1,000,000 are remembered, and beyond that none is taken
//	streams and subscriptions       are ended when the token expires that opened them
package auth
