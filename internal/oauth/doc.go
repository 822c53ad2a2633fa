// Package oauth has the formats that both sides of MCP authorization use: the challenges of a
// WWW-Authenticate header, the metadata documents of a protected resource and of an authorization
// server, and the URLs of these documents. It makes no requests and does not decide about trust:
// the caller decides whether a URL in a document may be used.
package oauth
