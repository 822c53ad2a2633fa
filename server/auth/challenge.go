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

// A codedError is what a challenge tells (RFC 6750, section 3.1, and RFC 9449, section 7.1).
type codedError struct{ code, description string }

func (e *codedError) Error() string { return e.code + ": " + e.description }

func tokenError(code, description string) error { return &codedError{code, description} }

// credentials are what a request has of them.
type credentials struct {
	scheme string // one of the constants
	token  string
}

// credentials finds the token of a request. It is in the header, and nowhere else (2026-07-28, Token Requirements).
func (s *Resource) credentials(r *http.Request) (c credentials, refused *streamable.Refusal) {
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return c, s.invalidRequest("the token must be in the Authorization header, and never in the address, where many would see it")
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
		return c, s.unauthorized("", nil) // as without one: RFC 6750, section 3.1
	}
	if len(token) > jose.MaxToken {
		return c, s.unauthorized(c.scheme, tokenError("invalid_token", "the token is too long"))
	}
	if !isToken68(token) {
		return c, s.invalidRequest("the Authorization header has no token behind its scheme")
	}
	c.token = token
	return c, nil
}

// isToken68 reports whether the text has the form of credentials (RFC 9110, section 11.2).
func isToken68(text string) bool {
	text = strings.TrimRight(text, "=")
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-._~+/", c))
	})
}

// unauthorized refuses with 401. The challenge of the scheme has the error, if there is one.
func (s *Resource) unauthorized(scheme string, err error) *streamable.Refusal {
	return &streamable.Refusal{Status: http.StatusUnauthorized, Challenge: s.challenge(scheme, err, s.o.Scopes)}
}

// insufficientScope refuses with 403, and names the scopes that are needed.
func (s *Resource) insufficientScope(scheme string, needed []string) *streamable.Refusal {
	err := tokenError("insufficient_scope", "this needs more than the token is good for")
	return &streamable.Refusal{
		Status: http.StatusForbidden, Challenge: s.challenge(scheme, err, needed), Message: "this needs the scopes " + strings.Join(needed, " "),
	}
}

// invalidRequest refuses with 400 what is no proper way to show a token (RFC 6750, section 3.1).
func (s *Resource) invalidRequest(description string) *streamable.Refusal {
	return &streamable.Refusal{
		Status: http.StatusBadRequest, Challenge: s.challenge(schemeBearer, tokenError("invalid_request", description), s.o.Scopes), Message: description,
	}
}

// unavailable refuses what may be asked again.
func unavailable() *streamable.Refusal {
	return &streamable.Refusal{
		Status: http.StatusServiceUnavailable, Message: "it cannot be settled just now who the caller is; try again later", Header: http.Header{"Retry-After": {"10"}},
	}
}

// challenge returns the WWW-Authenticate header: a challenge for each scheme that there is, of which the one that was tried has the error.
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
	c := oauth.Challenge{Scheme: scheme, Params: []oauth.Param{{Name: "resource_metadata", Value: s.metadata}}}
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
