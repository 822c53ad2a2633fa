// Package auth is the client's half of MCP authorization: it finds the authorization server of an MCP server, gets a token there, and sends it with every request.
//
//	a, err := auth.Options{
//		Name:  "weather-app",
//		Store: auth.FileStore{Dir: dir},
//		Grant: auth.AuthorizationCode{Show: openBrowser},
//	}.New("https://example.com/mcp")
//	if err != nil {
//		return err
//	}
//	c, err := client.Connect(ctx, streamable.Options{Wrap: a.Wrap}.Dial("https://example.com/mcp"))
//
// Nothing happens unless the server refuses a request. Then, and whatever revision is spoken:
//
//	MCP server                ◄── a request
//	                          ──► 401, WWW-Authenticate: which scopes, and where its metadata is
//	  its metadata            ──► who its authorization server is, and what the resource is called (RFC 9728)
//	authorization server
//	  its metadata            ──► its endpoints, and what it can do (RFC 8414, OpenID Connect Discovery)
//	  registration            ──► a client id, unless there is one (RFC 7591)
//	  authorization           ──► a code, when the user has agreed in a browser (OAuth 2.1, PKCE, RFC 8707, RFC 9207)
//	  token                   ──► a token, and mostly another one to get the next with
//	MCP server                ◄── the request again, and all that follow, with the token
//
// A server without metadata is one of 2025-03-26, and its own authorization server, at the addresses that were the default then.
//
// # Ways to a token
//
// Options.Grant says how:
//
//	AuthorizationCode   a user agrees in a browser, which comes back to a port of this machine, or to the application
//	ClientCredentials   the program shows a secret or signs with a key, and acts for itself
//	JWTBearer           the platform that the program runs on vouches for it, with a signed token
//	IdentityAssertion   the organization's identity provider vouches for the user
//	nil                 what is in Options.Store is used and refreshed; where there is nothing, the server's 401 stands
//
// # Users take their time
//
// With AuthorizationCode, the request that was refused waits for the user. For a call that is as long as it has time, and for the handshake
// client.Options.StartTimeout. An application may rather call [Authorizer.Login] before it connects, and connect when that is done. While a user is asked,
// everybody else waits for the same answer. If the user says no, or nothing for Patience, all requests fail for the next 30 s with what was asked for; then the next
// one opens a page again.
//
// # Which client
//
// In this order: a registration in Options.Clients for this authorization server; the address of a
// document about the client, Options.MetadataURL, if the authorization server takes such, and
// [Options.MetadataDocument] is served there; the registration that was made earlier, in the Store,
// if it is for the same scopes or more; a new one. If the MCP server names another authorization
// server than before, nothing of the former is shown to the latter. Registrations in
// Options.Clients that are for others only are an error then. A registration with a secret or a
// key, and any for ClientCredentials, JWTBearer or IdentityAssertion, names the authorization
// server that it is for: New refuses it otherwise, as the MCP server could name one that collects
// secrets.
//
// # Which scopes
//
// Those that the server's challenge names, or else Options.Scopes, or else all that its metadata has, or else none is named; and offline_access where the
// authorization server knows it. A 403 that says insufficient_scope leads to another token, with what was asked for before and what is missing, twice for a
// request at most. Who logs in may ask for more. What was asked for and not granted is not asked for again: then the 403 is the answer.
//
// # Tokens
//
// One that has expired is replaced before it is sent, with a refresh token if there is one. A refresh is made once, however many requests need it. It goes on when
// the request that caused it is given up, as the refresh token may have been spent. Programs that use the same Store wait for each other, and use what the quicker
// one has brought.
//
// [Authorizer.Logout] forgets them, and has the authorization server take them back.
//
// Where the server wants it, or both servers can do it, tokens are bound to a key that never leaves the program and its Store, and each request proves that it has
// the key (DPoP, RFC 9449).
//
// # What is refused
//
//   - http:, but for this machine itself; redirects to another origin, and any of what has a secret in it
//   - secrets, keys and assertions without the name of the one authorization server that may see them
//   - metadata of a resource that is neither the endpoint nor above it, or of another issuer than was asked; compared as strings
//   - answers of a browser that are not to the question (state), or from another authorization server (iss)
//   - authorization servers that do not say that they do PKCE with S256
//   - connections to private addresses, unless the MCP server is at one, or Options.AllowPrivate is set
//   - answers over 256 KiB, and any that take longer than 30 s
//
// # Errors
//
// What goes wrong on the way is an [*Error] in the error of the call: which step, at which address, what the authorization server says. A refusal about which
// nothing can be done is the server's own, a *streamable.StatusError with status 401 or 403. Neither has tokens, codes or secrets in it, and the log has not
// either.
package auth
