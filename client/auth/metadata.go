package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// metadata describes the MCP server and its authorization server.
type metadata struct {
	resource            string   // the resource identifier, exactly as in the metadata
	resourceMetadataURL string   // the URL of the protected resource metadata; "" if there is none
	scopesSupported     []string // of the protected resource
	dpopRequired        bool     // the server requires DPoP tokens
	dpopAlgs            []string // for DPoP proofs, of the protected resource
	authServer          *oauth.ServerMetadata
	// defaultEndpoints means that the authorization server has no metadata: its endpoints are the
	// defaults of 2025-03-26, and its capabilities are unknown.
	defaultEndpoints bool
	// unsupported, if not nil, says why the metadata is good for refreshing a token only.
	unsupported error
}

// discover finds the authorization server. Its metadata supports the grant, or else, to refresh a
// token, has at least a token endpoint.
func (a *Authorizer) discover(
	ctx context.Context, cr credentialsRequest, refresh bool,
) (*metadata, error) {
	var refreshOnly *oauth.ServerMetadata
	supports := a.supportCheck(cr.rejected)
	m, err := a.findMetadata(ctx, cr, func(s *oauth.ServerMetadata) error {
		err := supports(s)
		if err != nil && refresh && refreshOnly == nil && s.TokenEndpoint != "" {
			refreshOnly = s
		}
		return err
	})
	if err != nil && refreshOnly != nil {
		m.authServer, m.unsupported = refreshOnly, err
		return m, nil
	}
	return m, err
}

// findMetadata finds the authorization server and the metadata of it that passes the check
// (2026-07-28, Authorization Server Discovery). A server without protected resource metadata
// follows 2025-03-26: it is its own authorization server, unless Options.Issuer names another. If
// only the metadata of the authorization server is missing, the result has the rest beside an
// error.
func (a *Authorizer) findMetadata(ctx context.Context, cr credentialsRequest,
	supports func(*oauth.ServerMetadata) error) (*metadata, error) {
	resource, resourceURL, odd := a.resourceMetadata(ctx, cr)
	if resource == nil {
		for _, err := range odd {
			if !errors.Is(err, oauth.ErrNotMetadata) {
				return nil, joinErrors(StepResource, a.endpointText, odd)
			}
		}
		return a.legacyMetadata(ctx, cr, supports, odd)
	}
	issuer := a.options.Issuer
	if issuer == "" {
		if len(resource.AuthorizationServers) == 0 {
			return nil, errorf(StepResource, resourceURL,
				"the metadata names no authorization server")
		}
		issuer = a.chooseIssuer(resource.AuthorizationServers, cr.rejected)
	}
	authServer, err := a.serverMetadata(ctx, issuer, supports)
	return &metadata{
		resource: resource.Resource, resourceMetadataURL: resourceURL,
		scopesSupported: union(nil, resource.ScopesSupported),
		dpopRequired:    resource.DPoPBoundTokensNeeded, dpopAlgs: resource.DPoPSigningAlgs,
		authServer: authServer,
	}, err
}

// supportCheck returns the check that metadata of an authorization server must pass: that it
// supports the grant, or that of the old credentials if none is configured.
func (a *Authorizer) supportCheck(old *Credentials) func(*oauth.ServerMetadata) error {
	switch {
	case a.options.Grant != nil:
		return a.options.Grant.checkServer
	case old != nil && old.Grant == grantAuthorizationCode:
		return AuthorizationCode{}.checkServer
	}
	return unattendedGrant{}.checkServer
}

// chooseIssuer prefers the authorization server of a configured registration, then that of the old
// credentials, then the first.
func (a *Authorizer) chooseIssuer(servers []string, old *Credentials) string {
	for _, r := range a.options.Clients {
		if slices.Contains(servers, r.Issuer) {
			return r.Issuer
		}
	}
	if old != nil && slices.Contains(servers, old.Issuer) {
		return old.Issuer
	}
	return servers[0]
}

// resourceMetadata returns the protected resource metadata and its URL. It tries the URL in the
// challenge, or the one where the metadata was found before, and then the well-known URLs. If none
// has it, the metadata is nil, and odd has the URLs that responded with something else.
func (a *Authorizer) resourceMetadata(ctx context.Context,
	cr credentialsRequest) (m *oauth.ResourceMetadata, foundAt string, odd []error) {
	urls, err := oauth.ResourceMetadataURLs(httpurl.Public(a.endpoint).String())
	if err != nil {
		return nil, "", []error{newError(StepResource, a.endpointText, err)}
	}
	named := cr.challenge.resourceMetadataURL
	switch {
	case named != "":
		urls = append([]string{named}, urls...)
	case cr.rejected != nil && cr.rejected.Metadata != "":
		urls = append([]string{cr.rejected.Metadata}, urls...)
	}
	return firstDocument(ctx, urls, func(u string) (*oauth.ResourceMetadata, error) {
		m, err := a.fetchResourceMetadata(ctx, u)
		if u == named && m == nil && err == nil {
			err = errorf(StepResource, u, "the challenge names this URL, but there is no metadata")
		}
		return m, err
	})
}

// firstDocument returns the first document that fetch finds, and its URL. fetch returns nil, or an
// error, for a URL without a usable document; then the next one is tried, because sites respond
// with all kinds of things to URLs that they do not know. odd has these errors. After a server has
// not responded at all, its other URLs are skipped.
func firstDocument[T any](ctx context.Context, urls []string, fetch func(url string) (*T, error),
) (document *T, foundAt string, odd []error) {
	var silent []string // origins
	for i, text := range urls {
		u, err := url.Parse(text)
		if err == nil && slices.Contains(silent, origin(u)) || slices.Contains(urls[:i], text) {
			continue
		}
		document, err := fetch(text)
		if document != nil {
			return document, text, nil
		}
		if err == nil {
			continue
		}
		odd = append(odd, err)
		if e, ok := errors.AsType[*Error](err); ok && e.unanswered && u != nil {
			silent = append(silent, origin(u))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, "", odd
}

var errOtherResource = errors.New("the metadata is of another resource")

// fetchResourceMetadata returns the metadata at a URL, nil if there is none. A response that is not
// a JSON object counts as none, because many sites answer 200 for any URL.
func (a *Authorizer) fetchResourceMetadata(ctx context.Context,
	url string) (*oauth.ResourceMetadata, error) {
	resp, err := a.get(ctx, StepResource, url, http.Header{})
	if err != nil || !resp.isDocument() {
		return nil, err
	}
	if !resp.ok() {
		return nil, responseError(StepResource, url, resp)
	}
	m, err := oauth.ParseResourceMetadata(resp.body)
	if err != nil {
		return nil, newError(StepResource, url, err)
	}
	if !a.isWithin(m.Resource) {
		return nil, errorf(StepResource, url, "%w: %s", errOtherResource, httpurl.PublicText(m.Resource))
	}
	return m, nil
}

// isDocument reports whether a response is a JSON object or a temporary failure. Any other response
// means that there is no document.
func (r *response) isDocument() bool {
	if r.status >= 500 || r.status == http.StatusTooManyRequests {
		return true
	}
	start := strings.TrimLeft(string(r.body[:min(len(r.body), 64)]), "\ufeff \t\r\n")
	return r.ok() && strings.HasPrefix(start, "{")
}

// isWithin reports whether the endpoint is the resource or below it. A token for another resource
// must not be requested (RFC 9728, section 3.3; RFC 8707, section 2).
func (a *Authorizer) isWithin(resource string) bool {
	r, err := url.Parse(resource)
	if err != nil || !httpurl.SameOrigin(r, a.endpoint) || r.User != nil {
		return false
	}
	if r.RawQuery != "" {
		return r.RawQuery == a.endpoint.RawQuery && r.EscapedPath() == a.endpoint.EscapedPath()
	}
	base, path := strings.TrimSuffix(r.EscapedPath(), "/"), a.endpoint.EscapedPath()
	return path == base ||
		strings.HasPrefix(path, base+"/") && !strings.Contains(path[len(base):], "/..")
}

// serverMetadata returns the metadata of an authorization server that passes the check. The issuer
// in the metadata must be identical to the one requested (RFC 8414, section 3.3).
func (a *Authorizer) serverMetadata(ctx context.Context, issuer string,
	supports func(*oauth.ServerMetadata) error) (*oauth.ServerMetadata, error) {
	if err := checkURL(issuer); err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	urls, err := oauth.ServerMetadataURLs(issuer)
	if err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	isSame := func(other string) bool { return other == issuer }
	m, _, odd := firstDocument(ctx, urls, func(u string) (*oauth.ServerMetadata, error) {
		return a.fetchServerMetadata(ctx, u, http.Header{}, issuer, isSame, supports)
	})
	switch {
	case m != nil:
		return m, nil
	case len(odd) > 0:
		return nil, joinErrors(StepServer, issuer, odd)
	}
	return nil, newError(StepServer, issuer, errNoMetadata)
}

var errNoMetadata = errors.New("the authorization server has no metadata")

// fetchServerMetadata returns the metadata at a URL, nil if there is none. It fails if the metadata
// is of another issuer or does not pass the check.
func (a *Authorizer) fetchServerMetadata(
	ctx context.Context, url string, header http.Header, issuer string,
	isSame func(issuer string) bool, supports func(*oauth.ServerMetadata) error,
) (*oauth.ServerMetadata, error) {
	resp, err := a.get(ctx, StepServer, url, header)
	if err != nil || !resp.isDocument() {
		return nil, err
	}
	if !resp.ok() {
		return nil, responseError(StepServer, url, resp)
	}
	m, err := oauth.ParseServerMetadata(resp.body)
	if err != nil {
		return nil, newError(StepServer, url, err)
	}
	if !isSame(m.Issuer) {
		return nil, newError(StepServer, url,
			&IssuerError{Issuer: httpurl.PublicText(m.Issuer), Want: httpurl.PublicText(issuer)})
	}
	if err := supports(m); err != nil {
		return nil, newError(StepServer, url, err)
	}
	return m, nil
}

// legacyMetadata describes an MCP server without protected resource metadata: its authorization
// server is that of Options.Issuer, or at the same origin (2025-03-26, Authorization, "Server
// Metadata Discovery" and "Fallbacks for Servers without Metadata Discovery"). Nobody has named the
// issuer in the latter case, so it may be written in any way that denotes the origin. odd are the
// URLs that responded with something other than protected resource metadata.
func (a *Authorizer) legacyMetadata(
	ctx context.Context, cr credentialsRequest,
	supports func(*oauth.ServerMetadata) error, odd []error,
) (*metadata, error) {
	m := &metadata{resource: httpurl.Public(a.endpoint).String()}
	if a.options.Issuer != "" {
		var err error
		m.authServer, err = a.serverMetadata(ctx, a.options.Issuer, supports)
		return m, err
	}
	base := origin(a.endpoint)
	header := http.Header{}
	if cr.revision != "" {
		header.Set(mcp.HeaderProtocolVersion, cr.revision)
	}
	urls, err := oauth.ServerMetadataURLs(base)
	if err != nil {
		return nil, newError(StepServer, base, err)
	}
	fetch := func(u string) (*oauth.ServerMetadata, error) {
		return a.fetchServerMetadata(ctx, u, header.Clone(), base, a.isOrigin, supports)
	}
	// Only the first URL belongs to 2025-03-26.
	authServer, _, more := firstDocument(ctx, urls[:1], fetch)
	if len(more) > 0 {
		var others []error
		authServer, _, others = firstDocument(ctx, urls[1:], fetch)
		more = append(more, others...)
	}
	switch odd = append(odd, more...); {
	case authServer != nil:
		m.authServer = authServer
	case len(odd) > 0:
		return m, joinErrors(StepServer, base, odd)
	default:
		m.defaultEndpoints = true
		m.authServer = &oauth.ServerMetadata{
			Issuer: base, AuthorizationEndpoint: base + "/authorize",
			TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
		}
	}
	return m, nil
}

// isOrigin reports whether an issuer is the origin of the endpoint, with or without a final slash.
func (a *Authorizer) isOrigin(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && httpurl.SameOrigin(u, a.endpoint) && u.User == nil && u.RawQuery == "" &&
		!u.ForceQuery && u.Fragment == "" && (u.Path == "" || u.Path == "/")
}
