// Package contextkey has the context keys that packages of this module set for one another. An
// application reads the values with functions such as dispatch.PrincipalFrom.
package contextkey

type (
	// Principal is the key of the principal, a string, outside of a dispatch.Call.
	Principal struct{}
	// Session is the key of the name of the session of a message, a string, which is no secret; ""
	// if it belongs to none.
	Session struct{}
	// Connection is the key of the connection of a message.
	Connection struct{}
	// RequestParams is the key of the members of the params of a request, for package telemetry.
	RequestParams struct{}
	// Asks is the key of a func() bool that reports whether the response to a request is a question
	// to its client, whatever error its handler returns.
	Asks struct{}
	// Sent is the key of an *atomic.Bool that a gateway sets when it sends a call to its server.
	Sent struct{}
)
