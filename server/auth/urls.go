package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/oauth"
)

// checkURL returns a URL of https, or of http on this machine itself, without fragment or user (OAuth 2.1, section 1.5).
func checkURL(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, fmt.Errorf("auth: the %s is missing", what)
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("auth: the %s %q is no absolute URL, such as https://example.com/mcp", what, text)
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, fmt.Errorf("auth: the %s %q has a fragment; leave that out", what, text)
	case u.User != nil:
		return nil, errors.New("auth: the " + what + " names a user; leave that out") // and perhaps a password
	case u.Scheme == "https", u.Scheme == "http" && oauth.IsLoopback(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("auth: the %s %q is not of https:, which everything that is not on this machine has to be", what, text)
}

// checkEndpoint checks an URL that an issuer has named itself. If the issuer is elsewhere, it does not lead to this machine by http.
func checkEndpoint(what, text, issuer string) error {
	u, err := checkURL(what, text)
	if err == nil && u.Scheme == "http" && !strings.HasPrefix(strings.ToLower(issuer), "http:") {
		err = fmt.Errorf("auth: the %s %q is not of https:, as the issuer is", what, text)
	}
	return err
}

// sameResource compares identifiers of resources: to the letter, but for what MCP has servers be lenient with (2026-07-28, Canonical Server URI), the case of scheme and host, and
// a path that is nothing but a slash.
func sameResource(a, b string) bool { return a == b || canonicalResource(a) == canonicalResource(b) }

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
