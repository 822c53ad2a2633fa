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

// checkRedirect is the rule for redirects: they are followed at the server that was asked only, and only if the request stays what it is. So nothing that is meant for
// one server, such as a header with a token, or arguments, gets to another.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case !sameOrigin(req.URL, first.URL):
		return fmt.Errorf("redirected to %s, which is another server, and not followed: if that is right, use its URL", redactURL(req.URL))
	case req.Method != first.Method:
		return fmt.Errorf("redirected to %s in a way that makes a %s of a %s, and not followed: use that URL if it is right", redactURL(req.URL), req.Method, first.Method)
	case len(via) > maxRedirects:
		return errors.New("redirected too many times")
	}
	// net/http leaves out some if the host is only spelled in another way, and the user of the URL.
	maps.Copy(req.Header, first.Header)
	req.URL.User = first.URL.User
	return nil
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// redactURL shows a URL without what may be secret in it.
func redactURL(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String()
}
