package streamable

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/rpc"
)

// sessionLostPrefixes are the lowercase beginnings of messages with which servers answer 400 to an
// unknown session, although 404 is specified (2025-11-25, Transports, "Session Management").
// Servers built with the official SDKs for TypeScript and Python do so after a restart, following
// the SDKs' examples. Read-only.
var sessionLostPrefixes = []string{"no valid session", "invalid or missing session",
	"server not initialized"}

// isSessionLost reports whether a response, whose body begins with text, says that the server does
// not know the session of the request. An error response with the request's id, or any other text,
// does not say so: a tool's message must not end a session.
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
		if !m.ID.IsNull() && !m.ID.IsZero() || m.Error.Code != codeServerError &&
			m.Error.Code != rpc.CodeInvalidRequest {
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

// codeServerError is the code that SDKs use for transport errors.
const codeServerError = -32000
