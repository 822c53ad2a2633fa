package streamable

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/rpc"
)

// sessionLostPrefixes are how messages begin with which servers answer 400 to a session that they do not
// know, where 404 is meant (2025-11-25, Transports, "Session Management"): those built on the
// official SDKs for TypeScript and Python, after a restart, and as their examples have it. Read
// only.
var sessionLostPrefixes = []string{"no valid session", "invalid or missing session", "server not initialized"}

// isSessionLost reports whether an answer, of which text is the beginning, says that the server does not
// know the session that was named. An error that answers the request itself says something else, as
// does any other text: a session is not to be given up for what a tool says.
func isSessionLost(resp *http.Response, text []byte) bool {
	switch resp.StatusCode {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
	default:
		return false
	}
	message := string(bytes.TrimSpace(text))
	if m, err := rpc.ParseMessage(text); err == nil && m.Error != nil {
		if !m.ID.IsNull() && !m.ID.IsZero() || m.Error.Code != codeServerError && m.Error.Code != rpc.CodeInvalidRequest {
			return false
		}
		message = m.Error.Message
	}
	message = strings.TrimPrefix(strings.ToLower(message), "bad request: ")
	for _, words := range sessionLostPrefixes {
		if strings.HasPrefix(message, words) {
			return true
		}
	}
	return false
}

// codeServerError is the code that servers have for what went wrong with the transport.
const codeServerError = -32000
