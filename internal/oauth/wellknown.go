package oauth

import (
	"errors"
	"net/url"
	"strings"
)

const (
	resourceWellKnown = "/.well-known/oauth-protected-resource"
	serverWellKnown   = "/.well-known/oauth-authorization-server"
	openIDWellKnown   = "/.well-known/openid-configuration"
)

// ResourceMetadataURLs returns the URLs at which the metadata of a protected resource may be, in
// the order to try (RFC 9728, section 3.1): the well-known path between host and path, and, as MCP
// specifies, at the root of the host. A server serves it at the first.
func ResourceMetadataURLs(resource string) ([]string, error) {
	u, err := parts("resource", resource)
	if err != nil {
		return nil, err
	}
	path := u.EscapedPath()
	if path == "/" { // only a slash directly after the host is removed
		path = ""
	}
	root := u.Scheme + "://" + u.Host + resourceWellKnown
	exact := root + path
	if u.RawQuery != "" {
		exact += "?" + u.RawQuery
	}
	if exact == root {
		return []string{root}, nil
	}
	return []string{exact, root}, nil
}

// ServerMetadataURLs returns the URLs at which the metadata of an authorization server may be, in
// the order in which a client must try them (2026-07-28, Authorization Server Discovery,
// "Authorization Server Metadata Discovery"; RFC 8414, sections 3.1 and 5).
func ServerMetadataURLs(issuer string) ([]string, error) {
	u, err := parts("issuer", issuer)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return nil, errors.New("the issuer has a query")
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	all := []string{origin + serverWellKnown + path, origin + openIDWellKnown + path}
	if path != "" {
		all = append(all, origin+path+openIDWellKnown)
	}
	return all, nil
}

func parts(member, value string) (*url.URL, error) {
	if err := identifier(member, value); err != nil {
		return nil, err
	}
	return url.Parse(value)
}
