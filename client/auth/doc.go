// Package auth implements the client side of MCP authorization. It finds the authorization server
// of an MCP server, obtains a token there, and sends the token with every request.
//
//	a, err := auth.Options{
//		Name:  "weather-app",
//		Store: auth.FileStore{Dir: dir},
//		Grant: auth.AuthorizationCode{OpenBrowser: openBrowser},
//	}.New("https://example.com/mcp")
//	if err != nil {
//		return err
//	}
//	t := streamable.Options{Wrap: a.Wrap}.Dial("https://example.com/mcp")
//	c, err := client.Connect(ctx, t)
//
// Authorization begins when the server refuses a request, in both eras of the protocol:
//
//	MCP server                ◄── a request
//	                          ──► 401, WWW-Authenticate: scopes, URL of its metadata
//	  metadata                ──► authorization servers, resource identifier (RFC 9728)
//	authorization server
//	  metadata                ──► endpoints, capabilities (RFC 8414, OIDC Discovery)
//	  registration            ──► a client id, unless there is one (RFC 7591)
//	  authorization           ──► a code, after the user's consent
//	                              (OAuth 2.1, PKCE, RFC 8707, RFC 9207)
//	  token                   ──► an access token, and usually a refresh token
//	MCP server                ◄── the request again, with the access token
//
// A server without protected resource metadata follows revision 2025-03-26: it is its own
// authorization server, with the default endpoints of that revision unless it has authorization
// server metadata. With Options.Issuer, the authorization server is that one, whatever the MCP
// server names. A document may be at one of several URLs; if one of them responds with something
// that cannot be used, the next is tried, and the error lists all of them if none serves.
//
// # Grants
//
// Options.Grant selects how tokens are obtained:
//
//	AuthorizationCode   the user consents in a browser, which is redirected to a port of
//	                    this machine or to the application
//	ClientCredentials   the program authenticates with a secret or a key, and acts for itself
//	JWTBearer           the platform that runs the program vouches for it with a signed JWT
//	IdentityAssertion   the organization's identity provider vouches for the user
//	TokenExchange       a server that has a token of its caller exchanges it for one with
//	                    which it calls another server for him
//	nil                 credentials in Options.Store are used and refreshed; without any,
//	                    the server's 401 is returned
//
// # Waiting for users
//
// With AuthorizationCode, the refused request waits for the user: a call as long as its context
// allows, the handshake as long as client.Options.StartTimeout. To wait longer, call
// [Authorizer.Login] before connecting. Other requests that are refused meanwhile wait for the same
// result. If the user declines, or does not respond within AuthorizationCode.Timeout, requests that
// need the token fail with that error for 30 s; after that, the next one opens a page again.
//
// # Client registration
//
// The client is identified by the first of these that applies: a registration in Options.Clients
// for the authorization server; Options.MetadataURL, if the authorization server supports client ID
// metadata documents (the application must serve [Options.MetadataDocument] there); an earlier
// dynamic registration in the Store, if it includes the scopes; a new dynamic registration. If the
// MCP server changes to another authorization server, that server receives nothing that belongs to
// the former one. If Options.Clients has registrations for other servers only, that is an error. A
// registration with a secret or a key, and every registration for ClientCredentials, JWTBearer or
// IdentityAssertion, must name its authorization server, as otherwise the MCP server could name one
// that collects secrets; New returns an error if it does not.
//
// # Scopes
//
// The scopes requested are those of the server's challenge, or else Options.Scopes, or else all in
// the server's metadata, or else none; and offline_access if the authorization server supports it.
// A 403 with insufficient_scope leads to a token request with the scopes requested before and those
// missing, at most twice for each request. Login may request more. Scopes that were requested but
// not granted are not requested again: then the 403 is returned.
//
// # Tokens
//
// An expired token is replaced before it is sent, with the refresh token if there is one. However
// many requests need it, there is one refresh, and it goes on if the request that caused it is
// canceled, because the authorization server may have used up the refresh token. Programs that
// share a Store refresh one after the other, and use what another has saved.
//
// [Authorizer.Logout] deletes the credentials and revokes the tokens.
//
// If the server requires it, or both servers support it, tokens are bound to a key that stays in
// the program and its Store, and each request carries a proof of possession (DPoP, RFC 9449).
//
// # Security
//
// The package refuses:
//
//   - http: URLs other than of this machine; redirects to another origin; redirects of requests
//     that carry secrets
//   - secrets, keys and assertions that do not name the one authorization server they are for
//   - metadata for a resource that is neither the endpoint nor above it, or of another issuer than
//     requested; both are compared as strings, except that nobody has named the issuer of a server
//     of 2025-03-26: its origin may be followed by a slash
//   - authorization responses with another state, or from another authorization server (iss)
//   - authorization servers that do not declare PKCE with S256
//   - connections to private addresses, unless the MCP server has one or Options.AllowPrivate is
//     set
//   - responses over 256 KiB, or that take longer than 30 s
//
// # Errors
//
// If an authorization fails, the error of the call wraps an [*Error] with the step, the URL and
// what the authorization server has answered. If nothing can be done about a refusal, the error is
// the server's own, a *streamable.StatusError with status 401 or 403. Errors and logs contain no
// tokens, codes or secrets.
package auth
