package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/server/streamable"
)

// Options are the settings of a [Resource].
type Options struct {
	// Resource is the URL of the MCP endpoint as clients know it. Tokens are issued for it, and the
	// URL of its metadata derives from it. It is an https URL, or http on a loopback address.
	Resource string
	// AuthorizationServers are the issuers that clients may get tokens from. At least one is
	// required.
	AuthorizationServers []string
	// Verify verifies tokens: see [JWTOptions] and [IntrospectionOptions].
	Verify Verifier

	// Scopes are required for every request.
	Scopes []string
	// MessageScopes returns the scopes that a message requires in addition; nil: none. It is called
	// before the message is handled, concurrently.
	MessageScopes func(streamable.Message) []string
	// ImpliedScopes maps a scope to the scopes that it includes, transitively: with
	// "files:write": {"files:read"}, a token with files:write may also read.
	ImpliedScopes map[string][]string
	// ScopesSupported are the scopes in the metadata, those for basic use; nil: Scopes.
	ScopesSupported []string

	Name          string // display name of the resource; "": none
	Documentation string // URL of a page for developers; "": none

	// DPoP are the settings of tokens bound to a key; nil: not supported.
	DPoP *DPoPOptions

	// Logger receives refused requests, at most once a second for each address, and 100 of a kind
	// at once and then one a second in all; never tokens. Nil: slog.Default().
	Logger *slog.Logger
}

// A Resource is a protected resource of OAuth: an MCP server over HTTP. As an [http.Handler] it
// serves its metadata. It is safe for concurrent use and starts no goroutine.
type Resource struct {
	o        Options
	metadata string // URL of the metadata document
	document []byte
	paths    []string
	implies  map[string][]string // transitive
	dpop     *dpopVerifier       // nil: not supported
	refusals lograte.Limiter     // limits log lines about refused tokens
	failures lograte.Limiter     // limits log lines about failed verifications
}

// New returns a resource. The error names the invalid setting.
func (o Options) New() (*Resource, error) {
	u, err := checkURL("Resource", o.Resource)
	if err != nil {
		return nil, err
	}
	clean := strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	if u.EscapedPath() != u.Path || strings.ContainsAny(u.Path, "{}") || u.Path != clean &&
		u.Path != clean+"/" {
		return nil, fmt.Errorf(
			"auth: the Resource %q has a path that http.ServeMux cannot match; choose one without escapes, braces and dot segments",
			o.Resource)
	}
	if o.Verify == nil {
		return nil, errors.New(
			"auth: Verify is missing; JWTOptions and IntrospectionOptions make one")
	}
	if len(o.AuthorizationServers) == 0 {
		return nil, errors.New("auth: AuthorizationServers is empty; MCP requires at least one")
	}
	for _, issuer := range o.AuthorizationServers {
		if _, err := checkURL("issuer", issuer); err != nil {
			return nil, err
		}
	}
	if o.Scopes = slices.Clone(o.Scopes); o.ScopesSupported == nil {
		o.ScopesSupported = o.Scopes
	}
	for _, scope := range slices.Concat(o.Scopes, o.ScopesSupported) {
		if err := checkScope(scope); err != nil {
			return nil, err
		}
	}
	o.Logger = lograte.Logger(o.Logger)
	s := &Resource{o: o, implies: impliedScopes(o.ImpliedScopes)}
	if o.DPoP != nil {
		if s.dpop, err = o.DPoP.newVerifier(u); err != nil {
			return nil, err
		}
	}
	return s, s.setMetadata()
}

// Authorize is for [streamable.Options].Authorize. It refuses a request without a valid token for
// this resource with 401, and one whose token lacks a required scope with 403, both with a
// challenge (2026-07-28, Authorization, Error Handling). A token in the URL is refused with 400. If
// the token could not be verified, the status is 503. It blocks while the verifier does.
//
// The principal is [Identity.Principal]. Handlers get the identity from [IdentityFrom]. The token
// is not passed on.
func (s *Resource) Authorize(r *http.Request) (streamable.Caller, error) {
	c, refused := s.credentials(r)
	if refused != nil {
		return streamable.Caller{}, refused
	}
	id, err := s.verify(r.Context(), c.token)
	if err != nil {
		return streamable.Caller{}, s.verificationRefusal(r, c.scheme, err)
	}
	caller := streamable.Caller{
		Principal: id.Principal(), Context: WithIdentity(r.Context(), id),
		Expires: id.Expires,
		AuthorizeMessages: func(messages []streamable.Message) error {
			if refused := s.checkScopes(id, c.scheme, messages); refused != nil {
				return refused
			}
			return nil
		},
	}
	if caller.Header, refused = s.checkBinding(r, c, id); refused != nil {
		return streamable.Caller{}, refused
	}
	return caller, nil
}

// verify calls the verifier, and makes the checks that no verifier may omit.
func (s *Resource) verify(ctx context.Context, token string) (*Identity, error) {
	id, err := s.o.Verify(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case id == nil || id.Issuer == "" || id.Subject == "" || strings.Contains(id.Issuer, "#"):
		return nil, errors.New(
			"auth: the verifier returned an identity without issuer or subject, or whose issuer has a fragment")
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return nil, errExpired()
	}
	return id, nil
}

// verificationRefusal logs why a token was not accepted, and returns the refusal.
func (s *Resource) verificationRefusal(r *http.Request, scheme string,
	err error) *streamable.Refusal {
	bad, ok := errors.AsType[*TokenError](err)
	if ok {
		s.refusals.Log(s.o.Logger.Info, r.RemoteAddr, "a token was refused", "error", err)
		return s.unauthorized(scheme, tokenError("invalid_token", bad.Reason))
	}
	if r.Context().Err() == nil {
		s.failures.Log(s.o.Logger.Error, r.RemoteAddr, "a token could not be verified", "error",
			err)
	}
	return unavailable()
}

// checkBinding checks that a bound token comes with a proof of its key, and an unbound one as a
// bearer token. It returns headers for the response.
func (s *Resource) checkBinding(r *http.Request, c credentials, id *Identity) (http.Header,
	*streamable.Refusal) {
	switch {
	case id.KeyThumbprint == "" && c.scheme == schemeDPoP:
		return nil, s.unauthorized(c.scheme,
			tokenError("invalid_token", "the token is not bound to a key; send it as Bearer"))
	case id.KeyThumbprint == "" && s.dpop.required():
		return nil, s.unauthorized(schemeDPoP,
			tokenError("invalid_token", "the token is not bound to a key"))
	case id.KeyThumbprint == "":
		return nil, nil
	case c.scheme != schemeDPoP || s.dpop == nil:
		return nil, s.unauthorized(c.scheme,
			tokenError("invalid_token",
				"the token is bound to a key, and was sent without a DPoP proof"))
	}
	header, err := s.dpop.check(r, c, id)
	if err != nil {
		s.refusals.Log(s.o.Logger.Info, r.RemoteAddr, "a DPoP proof was refused", "error", err)
		if errors.Is(err, errTooManyProofs) {
			return nil, unavailable()
		}
		refused := s.unauthorized(schemeDPoP, err)
		refused.Header = header
		return nil, refused
	}
	return header, nil
}

// setMetadata encodes the metadata document and sets its paths.
func (s *Resource) setMetadata() error {
	places, err := oauth.ResourceMetadataURLs(s.o.Resource)
	if err != nil {
		return fmt.Errorf("auth: the Resource: %w", err)
	}
	s.metadata = places[0]
	for _, place := range places {
		u, err := url.Parse(place)
		if err != nil {
			return fmt.Errorf("auth: the Resource: %w", err)
		}
		s.paths = append(s.paths, u.Path)
	}
	s.document, err = s.encodeMetadata()
	return err
}
