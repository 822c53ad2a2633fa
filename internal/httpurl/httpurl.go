// Package httpurl decides which URLs of HTTP name the same server, which may receive secrets, and
// which part of one may be shown.
package httpurl

import (
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
)

// SameOrigin reports whether two URLs have the same scheme, host and port, that is whether one
// server receives what is sent to them (RFC 6454, section 5). Headers with secrets stay within one
// origin.
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) &&
		port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

// IsSecure reports whether nobody else can read what is sent to a URL: https, or http on this
// machine (OAuth 2.1, section 1.5).
func IsSecure(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, "https") || IsLoopback(u)
}

// IsLoopback reports whether a URL is http on this machine.
func IsLoopback(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, "http") && hostname.IsLoopback(u.Hostname())
}

// Public returns what may be shown of a URL: its scheme, host and path. The user, the query and the
// fragment may be secret.
func Public(u *url.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
}

// PublicText returns the [Public] part of a URL, or "" for text that is not a URL.
func PublicText(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return Public(u).String()
}
