package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
}

// discover finds the authorization server (2026-07-28, Authorization Server Discovery). A server
// without protected resource metadata follows 2025-03-26: it is its own authorization server.
func (a *Authorizer) discover(ctx context.Context, cr credentialsRequest) (*metadata, error) {
	resource, resourceURL, err := a.resourceMetadata(ctx, cr)
	if err != nil {
		return nil, err
	}
	if resource == nil {
		return a.legacyMetadata(ctx, cr)
	}
	if len(resource.AuthorizationServers) == 0 {
		return nil, errorf(StepResource, resourceURL, "the metadata names no authorization server")
	}
	issuer := a.chooseIssuer(resource.AuthorizationServers, cr.rejected)
	authServer, err := a.serverMetadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	return &metadata{
		resource: resource.Resource, resourceMetadataURL: resourceURL,
		scopesSupported: union(nil, resource.ScopesSupported),
		dpopRequired:    resource.DPoPBoundTokensNeeded, dpopAlgs: resource.DPoPSigningAlgs,
		authServer: authServer,
	}, nil
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
// challenge, or the one where the metadata was found before, and then the well-known URLs. The
// metadata is nil if there is none.
func (a *Authorizer) resourceMetadata(ctx context.Context,
	cr credentialsRequest) (*oauth.ResourceMetadata, string, error) {
	urls, err := oauth.ResourceMetadataURLs(withoutQuery(a.endpoint).String())
	if err != nil {
		return nil, "", newError(StepResource, a.endpointText, err)
	}
	switch {
	case cr.challenge.resourceMetadataURL != "":
		urls = append([]string{cr.challenge.resourceMetadataURL}, urls...)
	case cr.rejected != nil && cr.rejected.Metadata != "":
		urls = append([]string{cr.rejected.Metadata}, urls...)
	}
	var challengeErr error // of the URL in the challenge
	for i, u := range urls {
		if slices.Contains(urls[:i], u) {
			continue
		}
		m, err := a.fetchResourceMetadata(ctx, u)
		switch e, _ := errors.AsType[*Error](err); {
		case err == nil && m != nil:
			return m, u, nil
		case u == cr.challenge.resourceMetadataURL && err == nil:
			challengeErr = errorf(StepResource, u,
				"the challenge names this URL, but there is no metadata")
		case u == cr.challenge.resourceMetadataURL && e.Status == 0:
			challengeErr = err // such as an http: URL: a well-known URL may still work
		case err != nil:
			return nil, "", err
		}
		if errors.Is(challengeErr, errOtherResource) {
			break
		}
	}
	return nil, "", challengeErr
}

var errOtherResource = errors.New("the metadata is of another resource")

// fetchResourceMetadata returns the metadata at a URL, nil if there is none. A response that is not
// JSON counts as none, because many sites answer 200 for any URL.
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
		return nil, errorf(StepResource, url, "%w: %s", errOtherResource, redactURL(m.Resource))
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
	if err != nil || !sameOrigin(r, a.endpoint) || r.User != nil {
		return false
	}
	if r.RawQuery != "" {
		return r.RawQuery == a.endpoint.RawQuery && r.EscapedPath() == a.endpoint.EscapedPath()
	}
	base, path := strings.TrimSuffix(r.EscapedPath(), "/"), a.endpoint.EscapedPath()
	return path == base ||
		strings.HasPrefix(path, base+"/") && !strings.Contains(path[len(base):], "/..")
}

// serverMetadata returns the metadata of an authorization server. The issuer in the metadata must
// be identical to the one requested (RFC 8414, section 3.3).
func (a *Authorizer) serverMetadata(
	ctx context.Context, issuer string,
) (*oauth.ServerMetadata, error) {
	if err := checkURL(issuer); err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	urls, err := oauth.ServerMetadataURLs(issuer)
	if err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	var issuerErr error
	for _, u := range urls {
		m, err := a.fetchServerMetadata(ctx, u, issuer, http.Header{})
		switch {
		case err == nil && m != nil:
			return m, nil
		case errors.Is(err, errOtherIssuer):
			issuerErr = cmp.Or(issuerErr, err)
		case err != nil:
			return nil, err
		}
	}
	return nil, cmp.Or(issuerErr, error(newError(StepServer, issuer, errNoMetadata)))
}

var (
	errOtherIssuer = errors.New("the metadata is of another authorization server")
	errNoMetadata  = errors.New("the authorization server has no metadata")
)

// fetchServerMetadata returns the metadata at a URL, nil if there is none.
func (a *Authorizer) fetchServerMetadata(ctx context.Context, url, issuer string,
	header http.Header) (*oauth.ServerMetadata, error) {
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
	if m.Issuer != issuer {
		return nil, errorf(StepServer, url, "%w: issuer %s, want %s",
			errOtherIssuer, redactURL(m.Issuer), redactURL(issuer))
	}
	return m, nil
}

// legacyMetadata describes an MCP server without protected resource metadata: its authorization
// server is at the same origin (2025-03-26, Authorization, "Server Metadata Discovery" and
// "Fallbacks for Servers without Metadata Discovery").
func (a *Authorizer) legacyMetadata(ctx context.Context, cr credentialsRequest) (*metadata, error) {
	base := origin(a.endpoint)
	header := http.Header{}
	if cr.revision != "" {
		header.Set(mcp.HeaderProtocolVersion, cr.revision)
	}
	urls, err := oauth.ServerMetadataURLs(base)
	if err != nil {
		return nil, newError(StepServer, base, err)
	}
	authServer, err := a.fetchServerMetadata(ctx, urls[0], base, header)
	if err != nil {
		return nil, err
	}
	m := &metadata{resource: withoutQuery(a.endpoint).String(), authServer: authServer}
	if authServer == nil {
		m.defaultEndpoints = true
		m.authServer = &oauth.ServerMetadata{
			Issuer: base, AuthorizationEndpoint: base + "/authorize",
			TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
		}
	}
	return m, nil
}
