package auth

import (
	"errors"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/server/streamable"
)

// The schemes of the Authorization header (RFC 6750, section 2.1, and RFC 9449, section 7.1).
const (
	schemeBearer = "Bearer"
	schemeDPoP   = "DPoP"
)

// A codedError is the error of a challenge (RFC 6750, section 3.1, and RFC 9449, section 7.1).
type codedError struct{ code, description string }

func (e *codedError) Error() string { return e.code + ": " + e.description }

func tokenError(code, description string) error { return &codedError{code, description} }

// credentials are the scheme and token of a request's Authorization header.
type credentials struct {
	scheme string // one of the constants
	token  string
}

// credentials returns the credentials of a request. Only the header may have them (2026-07-28,
// Token Requirements).
func (s *Resource) credentials(r *http.Request) (c credentials, refused *streamable.Refusal) {
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return c, s.invalidRequest(
			"the token must be in the Authorization header; URLs are logged and shared")
	}
	values := r.Header["Authorization"]
	if len(values) > 1 {
		return c, s.invalidRequest("there is more than one Authorization header")
	}
	if len(values) == 0 {
		return c, s.unauthorized("", nil)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case strings.EqualFold(scheme, schemeBearer):
		c.scheme = schemeBearer
	case strings.EqualFold(scheme, schemeDPoP) && s.dpop != nil:
		c.scheme = schemeDPoP
	default:
		return c, s.unauthorized("", nil) // as without credentials: RFC 6750, section 3.1
	}
	if len(token) > jose.MaxToken {
		return c, s.unauthorized(c.scheme, tokenError("invalid_token", "the token is too long"))
	}
	if !isToken68(token) {
		return c, s.invalidRequest("the Authorization header has no valid token after its scheme")
	}
	c.token = token
	return c, nil
}

// isToken68 reports whether text has the token68 syntax (RFC 9110, section 11.2).
func isToken68(text string) bool {
	text = strings.TrimRight(text, "=")
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.ContainsRune("-._~+/", c))
	})
}

// unauthorized returns a 401. The scheme's challenge has the error, if err is not nil.
func (s *Resource) unauthorized(scheme string, err error) *streamable.Refusal {
	return &streamable.Refusal{Status: http.StatusUnauthorized,
		Challenge: s.challenge(scheme, err, s.o.Scopes)}
}

// insufficientScope returns a 403 that names the required scopes.
func (s *Resource) insufficientScope(scheme string, needed []string) *streamable.Refusal {
	err := tokenError("insufficient_scope", "the token lacks a required scope")
	return &streamable.Refusal{
		Status: http.StatusForbidden, Challenge: s.challenge(scheme, err, needed),
		Message: "this requires the scopes " + strings.Join(needed, " "),
	}
}

// invalidRequest returns a 400 for malformed credentials (RFC 6750, section 3.1).
func (s *Resource) invalidRequest(description string) *streamable.Refusal {
	return &streamable.Refusal{
		Status: http.StatusBadRequest,
		Challenge: s.challenge(schemeBearer, tokenError("invalid_request", description),
			s.o.Scopes), Message: description,
	}
}

// unavailable returns a 503, for a request that may be retried.
func unavailable() *streamable.Refusal {
	return &streamable.Refusal{
		Status:  http.StatusServiceUnavailable,
		Message: "the token cannot be verified at the moment; try again later",
		Header:  http.Header{"Retry-After": {"10"}},
	}
}

// challenge returns the WWW-Authenticate header: a challenge for each supported scheme. The
// challenge of the scheme in use has the error.
func (s *Resource) challenge(tried string, err error, scopes []string) string {
	var all []string
	if !s.dpop.required() {
		all = append(all, s.challengeOf(schemeBearer, tried, err, scopes))
	}
	if s.dpop != nil {
		all = append(all, s.challengeOf(schemeDPoP, tried, err, scopes))
	}
	return strings.Join(all, ", ")
}

func (s *Resource) challengeOf(scheme, tried string, err error, scopes []string) string {
	c := oauth.Challenge{Scheme: scheme,
		Params: []oauth.Param{{Name: "resource_metadata", Value: s.metadata}}}
	add := func(name, value string) {
		if value != "" {
			c.Params = append(c.Params, oauth.Param{Name: name, Value: value})
		}
	}
	add("scope", strings.Join(scopes, " "))
	if scheme == schemeDPoP {
		add("algs", strings.Join(algorithmNames(algorithms), " "))
	}
	if coded, ok := errors.AsType[*codedError](err); ok && (scheme == tried || s.dpop.required()) {
		add("error", coded.code)
		add("error_description", coded.description)
	}
	return c.String()
}
