package transport

import (
	"net/http"

	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// authFailures counts the HTTP requests that are refused because they are not authorized.
var authFailures = telemetry.Instrument{Name: "stdwire.http.authorization.failures",
	Unit: "{request}", Description: "Requests without a valid token or certificate."}

// countFailures returns a function like authorize, which may be nil, that counts its errors.
func countFailures[Caller any](authorize func(*http.Request) (Caller, error),
	failures *telemetry.Counter) func(*http.Request) (Caller, error) {
	if authorize == nil || failures == nil {
		return authorize
	}
	return func(r *http.Request) (Caller, error) {
		caller, err := authorize(r)
		if err != nil {
			failures.Add(1)
		}
		return caller, err
	}
}
