// Package oauth is what both sides of MCP authorization read and write: the challenges of a WWW-Authenticate header, the metadata documents of a protected resource and
// of an authorization server, and where these documents are found. It makes no request and trusts nobody: whether a URL in a document may be used is for the
// caller to say.
package oauth
