package streamable

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// sessionLostPrefixes are the lowercase beginnings of messages with which servers answer 400 to an
// unknown session, although 404 is specified (2025-11-25, Transports, "Session Management").
// Servers built with the official SDKs for TypeScript and Python do so after a restart, following
// the SDKs' examples. Read-only.
var sessionLostPrefixes = []string{"no valid session", "invalid or missing session",
	"server not initialized"}

// isSessionLost reports whether a response, whose body begins with text, says that the server does
// not know the session of the request. If the server accepted an earlier request of the session,
// 400 and 401 say so with any message about a session, since the session was not the reason to
// refuse that one. An error response with the request's id, any other text, or a 401 with a
// challenge does not say so: a tool's message must not end a session.
func isSessionLost(resp *http.Response, text []byte, accepted bool) bool {
	switch resp.StatusCode {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
	case http.StatusUnauthorized:
		if !accepted || hasChallenge(resp) {
			return false
		}
	default:
		return false
	}
	message, ok := refusalMessage(text)
	if !ok {
		return false
	}
	message = strings.ToLower(message)
	for _, reason := range []string{"bad request: ", "unauthorized: ", "error: "} {
		message = strings.TrimPrefix(message, reason)
	}
	if accepted {
		subject := message // what follows a colon may be quoted from anywhere
		if end := strings.IndexAny(message, ":.<\n"); end >= 0 {
			subject = message[:end]
		}
		if strings.Contains(subject, "session") {
			return true
		}
	}
	return resp.StatusCode == http.StatusBadRequest &&
		slices.ContainsFunc(sessionLostPrefixes, func(words string) bool {
			return strings.HasPrefix(message, words)
		})
}

// hasChallenge reports whether a 401 is about authorization (RFC 9110, section 11.6.1).
func hasChallenge(resp *http.Response) bool { return resp.Header.Get("WWW-Authenticate") != "" }

// refusalMessage returns the message of a refusal: that of a JSON-RPC error that is not the
// response to a request, the message of another JSON object, or the text. It reports false for a
// JSON-RPC error that is about the request.
func refusalMessage(text []byte) (message string, ok bool) {
	text = bytes.TrimSpace(text)
	if m, err := rpc.ParseMessage(text); err == nil && m.Error != nil {
		// the ids of the client are integers; some servers send a text of their own
		_, answer := m.ID.Integer()
		code := m.Error.Code
		return m.Error.Message, !answer && (code == rpc.CodeInvalidRequest ||
			code >= minServerError && code <= maxServerError)
	}
	if jsonscan.Valid(text) != nil {
		return string(text), true
	}
	object := text
	if inner := jsonscan.Member(text, "error"); len(inner) > 0 && inner[0] == '{' {
		object = inner
	}
	for _, name := range []string{"message", "detail", "error_description", "error"} {
		if message, ok := jsonscan.Text(jsonscan.Member(object, name)); ok {
			return message, true
		}
	}
	return string(text), true
}

// The codes of JSON-RPC 2.0, section 5.1, "Server error", which SDKs use for transport errors.
const (
	minServerError = -32099
	maxServerError = -32000
)
