package auth

import (
	"errors"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
)

// checkURL rejects URLs that must not receive secrets and whose responses must not be trusted:
// those without TLS, except on the loopback interface (OAuth 2.1, section 1.5).
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case u.Host == "" || u.Opaque != "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("the URL must not contain a user")
	case u.Fragment != "":
		return errors.New("the URL must not have a fragment")
	case u.Scheme == "https", u.Scheme == "http" && hostname.IsLoopback(u.Hostname()):
		return nil
	}
	return errors.New("the URL must be https:, or http: on this machine")
}

// sameOrigin reports whether scheme, host and port are equal.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) &&
		port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// withoutQuery returns u without user, query and fragment.
func withoutQuery(u *url.URL) *url.URL {
	plain := *u
	plain.User, plain.RawQuery, plain.ForceQuery = nil, "", false
	plain.Fragment, plain.RawFragment = "", ""
	return &plain
}

// redactURL returns a URL without its user, query and fragment, which may be secret. It returns ""
// for text that is not a URL.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}
