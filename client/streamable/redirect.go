package streamable

import (
	"cmp"
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

// roundTrip does what the method Do of the HTTP client does. Do copies the headers of each request,
// in case it is redirected, so Do is left out where the response needs nothing that it does.
func (c *conn) roundTrip(req *http.Request) (*http.Response, error) {
	if c.httpClient.Jar != nil || c.httpClient.Timeout != 0 || req.URL.User != nil {
		return c.httpClient.Do(req)
	}
	transport := cmp.Or(c.httpClient.Transport, http.DefaultTransport)
	resp, err := transport.RoundTrip(req)
	switch {
	case err != nil:
	case resp == nil || resp.Body == nil && resp.ContentLength > 0:
		return nil, fmt.Errorf("the transport, a %T, returned no response, or one without its body",
			transport)
	case resp.Body != nil && resp.StatusCode/100 == 2:
		return resp, nil
	}
	known := &knownOutcome{RoundTripper: transport, resp: resp, err: err}
	rest := http.Client{Transport: known, CheckRedirect: c.httpClient.CheckRedirect}
	return rest.Do(req)
}

// A knownOutcome is a transport that has made its first round trip already.
type knownOutcome struct {
	http.RoundTripper
	resp *http.Response
	err  error
	told bool
}

func (k *knownOutcome) RoundTrip(req *http.Request) (*http.Response, error) {
	if !k.told {
		k.told = true
		return k.resp, k.err
	}
	return k.RoundTripper.RoundTrip(req)
}
