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

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/server/streamable"
)

// Options are the settings of a [Resource].
type Options struct {
	// Resource is the URL of the MCP endpoint as clients know it: tokens are issued for it, and its metadata is found by it. It is of https, or of http on this machine.
	Resource string
	// AuthorizationServers are the issuers of the authorization servers that clients may get tokens of; there is at least one.
	AuthorizationServers []string
	// Verify settles what a token stands for: see [JWTOptions] and [IntrospectionOptions].
	Verify Verifier

	// Scopes are needed for every request.
	Scopes []string
	// MessageScopes returns which scopes a message needs besides; nil: none. It is called before anything of the message is done, by any number of goroutines at a time.
	MessageScopes func(streamable.Message) []string
	// ImpliedScopes says which scopes others have in them, directly or by way of others: with "files:write": {"files:read"}, whoever may write may read.
	ImpliedScopes map[string][]string
	// ScopesSupported are shown in the metadata: what is needed for basic use, to which more is added when it is needed; nil: Scopes.
	ScopesSupported []string

	Name          string // of the resource, for people; "": none is shown
	Documentation string // URL of a page for developers; "": none is shown

	// DPoP are the settings of tokens that are bound to a key of their sender; nil: there are none.
	DPoP *DPoPOptions

	// Logger hears why requests were refused, once a second for each address, never of tokens; nil:
	// slog.Default().
	Logger *slog.Logger
}

// A Resource is a protected resource of OAuth: an MCP server over HTTP. As an [http.Handler] it serves its metadata. It is safe for concurrent use, and starts no
// goroutine.
type Resource struct {
	o        Options
	url      *url.URL
	metadata string // URL of the document
	document []byte
	paths    []string
	implies  map[string][]string // all of them
	dpop     *dpopVerifier       // nil: there is none
	refusals lograte.Limiter     // of lines about what was refused
	failures lograte.Limiter     // of lines about what could not be verified
}

// New returns a resource. The error names the setting that is not as it has to be.
func (o Options) New() (*Resource, error) {
	u, err := checkURL("Resource", o.Resource)
	if err != nil {
		return nil, err
	}
	clean := strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	if u.EscapedPath() != u.Path || strings.ContainsAny(u.Path, "{}") || u.Path != clean && u.Path != clean+"/" {
		return nil, fmt.Errorf("auth: the Resource %q has a path that no mux takes as it is; choose a plain one", o.Resource)
	}
	if o.Verify == nil {
		return nil, errors.New("auth: Verify is missing; JWTOptions and IntrospectionOptions make one")
	}
	if len(o.AuthorizationServers) == 0 {
		return nil, errors.New("auth: Servers is empty; MCP wants an authorization server named")
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
	o.Logger = contain.Logger(o.Logger)
	s := &Resource{o: o, url: u, implies: impliedScopes(o.ImpliedScopes)}
	if o.DPoP != nil {
		if s.dpop, err = o.DPoP.newVerifier(u); err != nil {
			return nil, err
		}
	}
	return s, s.setMetadata()
}

// Authorize is for [streamable.Options].Authorize. It refuses a request without a token that is good for this resource with status 401, and one whose token has not the scopes that
// are needed with 403, both with the challenge that MCP wants (2026-07-28, Authorization, Error Handling). A token in the address is refused with 400. When that could not be settled, the
// status is 503.
//
// The principal is [Identity.Principal], and handlers get the rest by [IdentityFrom]. The token itself goes nowhere.
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
		Principal: id.Principal(), Context: context.WithValue(r.Context(), identityKey{}, id), Expires: id.Expires,
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

// verify has the token verified, and looks after what no verifier may leave open.
func (s *Resource) verify(ctx context.Context, token string) (*Identity, error) {
	id, err := s.o.Verify(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case id == nil || id.Issuer == "" || id.Subject == "" || strings.Contains(id.Issuer, "#"):
		return nil, errors.New("auth: the verifier returned an identity without issuer or subject, or whose issuer has a fragment")
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return nil, errExpired()
	}
	return id, nil
}

// verificationRefusal refuses a request whose token did not pass.
func (s *Resource) verificationRefusal(r *http.Request, scheme string, err error) *streamable.Refusal {
	bad, ok := errors.AsType[*TokenError](err)
	if ok {
		s.refusals.Log(s.o.Logger.Info, r.RemoteAddr, "a token was refused", "error", err)
		return s.unauthorized(scheme, tokenError("invalid_token", bad.Reason))
	}
	if r.Context().Err() == nil {
		s.failures.Log(s.o.Logger.Error, r.RemoteAddr, "a token could not be verified", "error", err)
	}
	return unavailable()
}

// checkBinding makes sure that whoever sends a token may do so: one that is bound to a key comes with a proof, and no other does. It returns headers for the answer.
func (s *Resource) checkBinding(r *http.Request, c credentials, id *Identity) (http.Header, *streamable.Refusal) {
	switch {
	case id.KeyThumbprint == "" && c.scheme == schemeDPoP:
		return nil, s.unauthorized(c.scheme, tokenError("invalid_token", "the token is bound to no key; send it as Bearer"))
	case id.KeyThumbprint == "" && s.dpop.required():
		return nil, s.unauthorized(schemeDPoP, tokenError("invalid_token", "the token is bound to no key"))
	case id.KeyThumbprint == "":
		return nil, nil
	case c.scheme != schemeDPoP || s.dpop == nil:
		return nil, s.unauthorized(c.scheme, tokenError("invalid_token", "the token is bound to a key, and was sent without a proof of it"))
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

// setMetadata makes the metadata document and finds its places.
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
