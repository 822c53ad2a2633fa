// Package contextkey has the context keys that packages of this module set for one another. An
// application reads the values with functions such as dispatch.PrincipalFrom.
package contextkey

type (
	// Principal is the key of the principal, a string, outside of a dispatch.Call.
	Principal struct{}
	// Connection is the key of the mcp.Connection of a message.
	Connection struct{}
	// RequestParams is the key of the mcp.RequestParams of a request.
	RequestParams struct{}
)
