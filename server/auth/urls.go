package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/httpurl"
)

// checkURL parses an https URL, or http on a loopback address, without fragment and user (OAuth
// 2.1, section 1.5).
func checkURL(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, fmt.Errorf("auth: the %s is missing", what)
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf(
			"auth: the %s %q is not an absolute URL, such as https://example.com/mcp", what, text)
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, fmt.Errorf("auth: the %s %q has a fragment; omit it", what, text)
	case u.User != nil:
		// without the URL, which may have a password
		return nil, errors.New("auth: the " + what + " names a user; omit it")
	case httpurl.IsSecure(u):
		return u, nil
	}
	return nil, fmt.Errorf(
		"auth: the %s %q is not https, which is required except on a loopback address", what, text)
}

// checkEndpoint checks a URL from an issuer's metadata. An https issuer may not name an http URL.
func checkEndpoint(what, text, issuer string) error {
	u, err := checkURL(what, text)
	if err == nil && u.Scheme == "http" && !strings.HasPrefix(strings.ToLower(issuer), "http:") {
		err = fmt.Errorf("auth: the %s %q is not https, as the issuer is", what, text)
	}
	return err
}

// sameResource compares resource identifiers exactly, except for what MCP servers should tolerate:
// the case of scheme and host, and a path that is only a slash (2026-07-28, Canonical Server URI).
func sameResource(a, b string) bool {
	return a == b || canonicalResource(a) == canonicalResource(b)
}

func canonicalResource(resource string) string {
	scheme, rest, ok := strings.Cut(resource, "://")
	if !ok {
		return resource
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if path == "/" {
		path = ""
	}
	return strings.ToLower(scheme) + "://" + strings.ToLower(host) + path
}
