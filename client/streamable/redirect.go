package streamable

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 5

// checkRedirect allows redirects within one origin that keep the method. So headers with tokens and
// arguments never reach another server.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case !sameOrigin(req.URL, first.URL):
		return fmt.Errorf(
			"redirected to another server, %s: not followed: if that is intended, use its URL",
			redactURL(req.URL))
	case req.Method != first.Method:
		return fmt.Errorf(
			"redirected to %s with %s instead of %s: not followed: if that is intended, use that URL",
			redactURL(req.URL), req.Method, first.Method)
	case len(via) > maxRedirects:
		return errors.New("redirected too many times")
	}
	// net/http drops some headers if the host differs only in spelling, and the URL's user.
	maps.Copy(req.Header, first.Header)
	req.URL.User = first.URL.User
	return nil
}

// sameOrigin reports whether scheme, host and port are equal.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) &&
		port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// redactURL returns a URL without its user, query and fragment, which may be secret.
func redactURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}
