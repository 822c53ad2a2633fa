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
type site struct {
	resource string   // as its metadata calls it, to the letter
	metadata string   // where that was found; "" if there is none
	scopes   []string // that it says it has
	dpop     bool     // it takes tokens of that type only
	dpopAlgs []string // that it knows for proofs
	server   *oauth.ServerMetadata
	silent   bool // the authorization server has no metadata: its addresses are those of 2025-03-26, and what it can do is not known
}

// discover finds the authorization server (2026-07-28, Authorization Server Discovery). A server that has no metadata of its own is one of 2025-03-26: it is
// its own authorization server.
func (a *Authorizer) discover(ctx context.Context, p problem) (*site, error) {
	m, where, err := a.resourceMetadata(ctx, p)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return a.selfMadeServer(ctx, p)
	}
	s := &site{resource: m.Resource, metadata: where, scopes: union(nil, m.ScopesSupported), dpop: m.DPoPBoundTokensNeeded, dpopAlgs: m.DPoPSigningAlgs}
	if len(m.AuthorizationServers) == 0 {
		return nil, failedf(StepResource, where, "it names no authorization server")
	}
	issuer := a.choose(m.AuthorizationServers, p.refused)
	if s.server, err = a.serverMetadata(ctx, issuer); err != nil {
		return nil, err
	}
	return s, nil
}

// choose takes the authorization server that knows the client already, or else the first.
func (a *Authorizer) choose(servers []string, old *Credentials) string {
	for _, r := range a.o.Clients {
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
func (a *Authorizer) resourceMetadata(ctx context.Context, p problem) (*oauth.ResourceMetadata, string, error) {
	plain := *a.endpoint
	plain.User, plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = nil, "", false, "", ""
	known, err := oauth.ResourceMetadataURLs(plain.String())
	if err != nil {
		return nil, "", failed(StepResource, a.text, err)
	}
	switch {
	case p.wants.metadata != "":
		known = append([]string{p.wants.metadata}, known...)
	case p.refused != nil && p.refused.Metadata != "":
		known = append([]string{p.refused.Metadata}, known...)
	}
	var first error // of the address that the server itself has named
	for i, where := range known {
		if slices.Contains(known[:i], where) {
			continue
		}
		m, err := a.resourceMetadataAt(ctx, where)
		switch e, _ := errors.AsType[*Error](err); {
		case err == nil && m != nil:
			return m, where, nil
		case where == p.wants.metadata && err == nil:
			first = failedf(StepResource, where, "the server says that its metadata is there, and it is not")
		case where == p.wants.metadata && e.Status == 0:
			first = err // such as one of http:; perhaps it is at a well-known address too
		case err != nil:
			return nil, "", err
		}
		if errors.Is(first, errMismatch) {
			break
		}
	}
	return nil, "", first
}

var errMismatch = errors.New("the metadata is not that of this server")

// resourceMetadataAt is nil if there is nothing of the kind at an address. A page that is no JSON is nothing of the kind: many sites answer whatever they are asked.
func (a *Authorizer) resourceMetadataAt(ctx context.Context, where string) (*oauth.ResourceMetadata, error) {
	got, err := a.get(ctx, StepResource, where, http.Header{})
	if err != nil || !got.isDocument() {
		return nil, err
	}
	if !got.ok() {
		return nil, refused(StepResource, where, got)
	}
	m, err := oauth.ParseResourceMetadata(got.body)
	if err != nil {
		return nil, failed(StepResource, where, err)
	}
	if !a.isAt(m.Resource) {
		return nil, failedf(StepResource, where, "%w: it calls itself %s", errMismatch, printURL(m.Resource))
	}
	return m, nil
}

// isDocument says whether an answer is one that counts: a document, or a failure that may be over the next time.
func (got *answer) isDocument() bool {
	if got.status >= 500 || got.status == http.StatusTooManyRequests {
		return true
	}
	return got.ok() && strings.HasPrefix(strings.TrimLeft(string(got.body[:min(len(got.body), 64)]), "\ufeff \t\r\n"), "{")
}

// isAt says whether the endpoint is the resource, or below it: a token that is good for another resource must not be asked for (RFC 9728, section 3.3; RFC
// 8707, section 2).
func (a *Authorizer) isAt(resource string) bool {
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
		return nil, failed(StepServer, issuer, err)
	}
	known, err := oauth.ServerMetadataURLs(issuer)
	if err != nil {
		return nil, failed(StepServer, issuer, err)
	}
	var wrong error
	for _, where := range known {
		m, err := a.serverMetadataAt(ctx, where, issuer, http.Header{})
		switch {
		case err == nil && m != nil:
			return m, nil
		case errors.Is(err, errIssuer):
			if wrong == nil {
				wrong = err
			}
		case err != nil:
			return nil, err
		}
	}
	if wrong == nil {
		wrong = failed(StepServer, issuer, errNoMetadata)
	}
	return nil, wrong
}

var (
	errIssuer     = errors.New("the metadata is that of another authorization server")
	errNoMetadata = errors.New("the authorization server has no metadata")
)

func (a *Authorizer) serverMetadataAt(ctx context.Context, where, issuer string, header http.Header) (*oauth.ServerMetadata, error) {
	got, err := a.get(ctx, StepServer, where, header)
	if err != nil || !got.isDocument() {
		return nil, err
	}
	if !got.ok() {
		return nil, refused(StepServer, where, got)
	}
	m, err := oauth.ParseServerMetadata(got.body)
	if err != nil {
		return nil, failed(StepServer, where, err)
	}
	if m.Issuer != issuer {
		return nil, failedf(StepServer, where, "%w: it calls itself %s, and %s was asked", errIssuer, printURL(m.Issuer), printURL(issuer))
	}
	return m, nil
}

// selfMadeServer is the authorization server of an MCP server that says nothing of one: it is at the same origin (2025-03-26, Authorization, "Server Metadata
// Discovery" and "Fallbacks for Servers without Metadata Discovery").
func (a *Authorizer) selfMadeServer(ctx context.Context, p problem) (*site, error) {
	base := origin(a.endpoint)
	header := http.Header{}
	if p.revision != "" {
		header.Set(mcp.HeaderProtocolVersion, p.revision)
	}
	known, err := oauth.ServerMetadataURLs(base)
	if err != nil {
		return nil, failed(StepServer, base, err)
	}
	m, err := a.serverMetadataAt(ctx, known[0], base, header)
	if err != nil {
		return nil, err
	}
	plain := *a.endpoint
	plain.User, plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = nil, "", false, "", ""
	s := &site{resource: plain.String(), server: m}
	if m == nil {
		s.silent = true
		s.server = &oauth.ServerMetadata{Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register"}
	}
	return s, nil
}
