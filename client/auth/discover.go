package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A site is what is known of the MCP server and its authorization server.
type metadata struct {
	resource            string   // as its metadata calls it, to the letter
	resourceMetadataURL string   // where that was found; "" if there is none
	scopesSupported     []string // that it says it has
	dpopRequired        bool     // it takes tokens of that type only
	dpopAlgs            []string // that it knows for proofs
	authServer          *oauth.ServerMetadata
	defaultEndpoints    bool // the authorization server has no metadata: its addresses are those of 2025-03-26, and what it can do is not known
}

// discover finds the authorization server (2026-07-28, Authorization Server Discovery). A server that has no metadata of its own is one of 2025-03-26: it is
// its own authorization server.
func (a *Authorizer) discover(ctx context.Context, p credentialsRequest) (*metadata, error) {
	m, where, err := a.resourceMetadata(ctx, p)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return a.legacyMetadata(ctx, p)
	}
	s := &metadata{resource: m.Resource, resourceMetadataURL: where, scopesSupported: union(nil, m.ScopesSupported), dpopRequired: m.DPoPBoundTokensNeeded, dpopAlgs: m.DPoPSigningAlgs}
	if len(m.AuthorizationServers) == 0 {
		return nil, errorf(StepResource, where, "it names no authorization server")
	}
	issuer := a.chooseIssuer(m.AuthorizationServers, p.rejected)
	if s.authServer, err = a.serverMetadata(ctx, issuer); err != nil {
		return nil, err
	}
	return s, nil
}

// chooseIssuer takes the authorization server that knows the client already, or else the first.
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

// resourceMetadata finds what the MCP server says of itself: at the address in the challenge, or where it was found before, or at the well-known ones. It is
// nil if there is none.
func (a *Authorizer) resourceMetadata(ctx context.Context, p credentialsRequest) (*oauth.ResourceMetadata, string, error) {
	plain := *a.endpoint
	plain.User, plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = nil, "", false, "", ""
	known, err := oauth.ResourceMetadataURLs(plain.String())
	if err != nil {
		return nil, "", newError(StepResource, a.endpointText, err)
	}
	switch {
	case p.challenge.resourceMetadataURL != "":
		known = append([]string{p.challenge.resourceMetadataURL}, known...)
	case p.rejected != nil && p.rejected.Metadata != "":
		known = append([]string{p.rejected.Metadata}, known...)
	}
	var first error // of the address that the server itself has named
	for i, where := range known {
		if slices.Contains(known[:i], where) {
			continue
		}
		m, err := a.fetchResourceMetadata(ctx, where)
		switch e, _ := errors.AsType[*Error](err); {
		case err == nil && m != nil:
			return m, where, nil
		case where == p.challenge.resourceMetadataURL && err == nil:
			first = errorf(StepResource, where, "the server says that its metadata is there, and it is not")
		case where == p.challenge.resourceMetadataURL && e.Status == 0:
			first = err // such as one of http:; perhaps it is at a well-known address too
		case err != nil:
			return nil, "", err
		}
		if errors.Is(first, errOtherResource) {
			break
		}
	}
	return nil, "", first
}

var errOtherResource = errors.New("the metadata is not that of this server")

// fetchResourceMetadata is nil if there is nothing of the kind at an address. A page that is no JSON is nothing of the kind: many sites answer whatever they are asked.
func (a *Authorizer) fetchResourceMetadata(ctx context.Context, where string) (*oauth.ResourceMetadata, error) {
	got, err := a.get(ctx, StepResource, where, http.Header{})
	if err != nil || !got.isDocument() {
		return nil, err
	}
	if !got.ok() {
		return nil, responseError(StepResource, where, got)
	}
	m, err := oauth.ParseResourceMetadata(got.body)
	if err != nil {
		return nil, newError(StepResource, where, err)
	}
	if !a.isWithin(m.Resource) {
		return nil, errorf(StepResource, where, "%w: it calls itself %s", errOtherResource, redactURL(m.Resource))
	}
	return m, nil
}

// isDocument says whether an answer is one that counts: a document, or a failure that may be over the next time.
func (got *response) isDocument() bool {
	if got.status >= 500 || got.status == http.StatusTooManyRequests {
		return true
	}
	return got.ok() && strings.HasPrefix(strings.TrimLeft(string(got.body[:min(len(got.body), 64)]), "\ufeff \t\r\n"), "{")
}

// isWithin says whether the endpoint is the resource, or below it: a token that is good for another resource must not be asked for (RFC 9728, section 3.3; RFC
// 8707, section 2).
func (a *Authorizer) isWithin(resource string) bool {
	r, err := url.Parse(resource)
	if err != nil || !sameOrigin(r, a.endpoint) || r.User != nil {
		return false
	}
	if r.RawQuery != "" {
		return r.RawQuery == a.endpoint.RawQuery && r.EscapedPath() == a.endpoint.EscapedPath()
	}
	above, path := strings.TrimSuffix(r.EscapedPath(), "/"), a.endpoint.EscapedPath()
	return path == above || strings.HasPrefix(path, above+"/") && !strings.Contains(path[len(above):], "/..")
}

// serverMetadata finds what an authorization server says of itself. Its issuer must be the one that was asked, to the letter (RFC 8414, section 3.3).
func (a *Authorizer) serverMetadata(ctx context.Context, issuer string) (*oauth.ServerMetadata, error) {
	if err := checkURL(issuer); err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	known, err := oauth.ServerMetadataURLs(issuer)
	if err != nil {
		return nil, newError(StepServer, issuer, err)
	}
	var wrong error
	for _, where := range known {
		m, err := a.fetchServerMetadata(ctx, where, issuer, http.Header{})
		switch {
		case err == nil && m != nil:
			return m, nil
		case errors.Is(err, errOtherIssuer):
			if wrong == nil {
				wrong = err
			}
		case err != nil:
			return nil, err
		}
	}
	if wrong == nil {
		wrong = newError(StepServer, issuer, errNoMetadata)
	}
	return nil, wrong
}

var (
	errOtherIssuer = errors.New("the metadata is that of another authorization server")
	errNoMetadata  = errors.New("the authorization server has no metadata")
)

func (a *Authorizer) fetchServerMetadata(ctx context.Context, where, issuer string, header http.Header) (*oauth.ServerMetadata, error) {
	got, err := a.get(ctx, StepServer, where, header)
	if err != nil || !got.isDocument() {
		return nil, err
	}
	if !got.ok() {
		return nil, responseError(StepServer, where, got)
	}
	m, err := oauth.ParseServerMetadata(got.body)
	if err != nil {
		return nil, newError(StepServer, where, err)
	}
	if m.Issuer != issuer {
		return nil, errorf(StepServer, where, "%w: it calls itself %s, and %s was asked", errOtherIssuer, redactURL(m.Issuer), redactURL(issuer))
	}
	return m, nil
}

// legacyMetadata is the authorization server of an MCP server that says nothing of one: it is at the same origin (2025-03-26, Authorization, "Server Metadata
// Discovery" and "Fallbacks for Servers without Metadata Discovery").
func (a *Authorizer) legacyMetadata(ctx context.Context, p credentialsRequest) (*metadata, error) {
	base := origin(a.endpoint)
	header := http.Header{}
	if p.revision != "" {
		header.Set(mcp.HeaderProtocolVersion, p.revision)
	}
	known, err := oauth.ServerMetadataURLs(base)
	if err != nil {
		return nil, newError(StepServer, base, err)
	}
	m, err := a.fetchServerMetadata(ctx, known[0], base, header)
	if err != nil {
		return nil, err
	}
	plain := *a.endpoint
	plain.User, plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = nil, "", false, "", ""
	s := &metadata{resource: plain.String(), authServer: m}
	if m == nil {
		s.defaultEndpoints = true
		s.authServer = &oauth.ServerMetadata{Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register"}
	}
	return s, nil
}
