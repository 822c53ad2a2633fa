package streamable

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/stdwire/stdwire/internal/httpurl"
)

const maxRedirects = 5

// checkRedirect allows redirects within one origin that keep the method. So headers with tokens and
// arguments never reach another server.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case !httpurl.SameOrigin(req.URL, first.URL):
		return fmt.Errorf(
			"redirected to another server, %s: not followed: if that is intended, use its URL",
			httpurl.Public(req.URL))
	case req.Method != first.Method:
		return fmt.Errorf(
			"redirected to %s with %s instead of %s: not followed: if that is intended, use that URL",
			httpurl.Public(req.URL), req.Method, first.Method)
	case len(via) > maxRedirects:
		return errors.New("redirected too many times")
	}
	// net/http drops some headers if the host differs only in spelling, and the URL's user.
	maps.Copy(req.Header, first.Header)
	req.URL.User = first.URL.User
	return nil
}
