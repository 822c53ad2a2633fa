package auth_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// requestCallback sends a request to the callback server.
func requestCallback(t *testing.T, method, where, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, where, nil)
	assert.NilError(t, err)
	req.Host = host
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	assert.NilError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	assert.NilError(t, err)
	assert.Equal(t, resp.Header.Get("Content-Security-Policy"),
		"default-src 'none'; frame-ancestors 'none'")
	assert.Equal(t, resp.Header.Get("Content-Type"), "text/plain; charset=utf-8")
	return resp.StatusCode, string(text)
}

// The callback server accepts the one expected response, and nothing else that a website makes a
// browser send.
func TestCallback(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	seen := ""
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(ctx context.Context, page string) error {
		back, err := w.follow(ctx, page)
		assert.NilError(t, err)
		u, err := url.Parse(back)
		assert.NilError(t, err)
		seen = u.Scheme + "://" + u.Host + u.Path
		host, _, err := net.SplitHostPort(u.Host)
		assert.NilError(t, err)
		assert.Equal(t, host, "127.0.0.1")
		with := func(name, value string) string {
			v, other := u.Query(), *u
			v.Set(name, value)
			other.RawQuery = v.Encode()
			return other.String()
		}
		for _, bad := range []struct {
			method, url, host string
			status            int
		}{
			{"GET", with("state", "<script>"), "", 400},
			{"GET", with("state", ""), "", 400},
			{"GET", back + "&state=" + u.Query().Get("state"), "", 400},
			{"GET", seen, "", 400},
			{"GET", seen + "?%zz", "", 400},
			{"POST", back, "", 405},
			{"HEAD", back, "", 405},
			{"GET", back, "evil.example", 404}, // a name that resolves to this address
			{"GET", strings.Replace(back, "/callback", "/", 1), "", 404},
		} {
			status, text := requestCallback(t, bad.method, bad.url, bad.host)
			assert.Equal(t, status, bad.status, bad.url)
			assert.Assert(t, !strings.Contains(text, "<"), text)
		}
		status, text := requestCallback(t, "GET", back, "")
		assert.Equal(t, status, 200)
		assert.Assert(t, strings.Contains(text, "go back to the program") &&
			!strings.Contains(text, "s3cret"), text)
		return nil
	}}
	c := w.client(o)
	c.ok()
	assert.Equal(t, w.requestsTo("/token")[0].form.Get("redirect_uri"), seen)
	_, err := http.Get(seen)
	assert.ErrorContains(t, err, "refused", "nobody listens any more")

	// The next authorization uses the same port if it is free.
	first := seen
	assert.NilError(t, c.Login(t.Context()))
	assert.Equal(t, seen, first)
	assert.Equal(t, w.count("/register"), 1)
	u, err := url.Parse(first)
	assert.NilError(t, err)
	taken, err := net.Listen("tcp", u.Host)
	assert.NilError(t, err)
	defer taken.Close()
	assert.NilError(t, c.Login(t.Context()))
	assert.Assert(t, seen != first)
	assert.Equal(t, w.count("/register"), 2, "which is registered as another")
}

// A repeated response is refused.
func TestCallbackTwice(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(ctx context.Context, page string) error {
		back, err := w.follow(ctx, page)
		assert.NilError(t, err)
		status, _ := requestCallback(t, "GET", back, "")
		assert.Equal(t, status, 200)
		status, _ = requestCallback(t, "GET", back, "")
		assert.Equal(t, status, 400)
		return nil
	}}
	w.client(o).ok()
	assert.Equal(t, w.count("/token"), 1)
}

// If the user declines, the browser's page does not show the error of the authorization server.
func TestCallbackWithAnError(t *testing.T) {
	w := newWorld(t)
	w.authorize = func(v url.Values) url.Values {
		v.Del("code")
		v.Set("error", "access_denied")
		v.Set("error_description", "<b>")
		return v
	}
	o := w.options()
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(ctx context.Context, page string) error {
		back, err := w.follow(ctx, page)
		assert.NilError(t, err)
		_, text := requestCallback(t, "GET", back, "")
		assert.Assert(t, strings.Contains(text, "Access was not granted") &&
			!strings.Contains(text, "<b>"), text)
		return nil
	}}
	e := w.client(o).fails(auth.StepAuthorize, "access_denied")
	assert.Equal(t, e.Code, "access_denied")
}

// A failing OpenBrowser and a port in use are errors, and the callback server is closed.
func TestCallbackFails(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	broken, where := errors.New("no browser"), ""
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(_ context.Context, page string) error {
		u, err := url.Parse(page)
		assert.NilError(t, err)
		where = u.Query().Get("redirect_uri")
		return broken
	}}
	assert.ErrorIs(t, w.client(o).fails(auth.StepAuthorize, "no browser"), broken)
	_, err := http.Get(where)
	assert.ErrorContains(t, err, "refused")

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer taken.Close()
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(context.Context, string) error {
		return nil
	}, RedirectURL: "http://" + taken.Addr().String() + "/cb"}
	var listen *net.OpError
	assert.Assert(t,
		errors.As(w.client(o).fails(auth.StepAuthorize, taken.Addr().String()), &listen))
	assert.Equal(t, listen.Op, "listen")
}

// Silent connections do not pile up while a browser's redirect is awaited.
func TestCallbackLimitsConnections(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Grant = auth.AuthorizationCode{OpenBrowser: func(ctx context.Context, page string) error {
		u, err := url.Parse(page)
		assert.NilError(t, err)
		back, err := url.Parse(u.Query().Get("redirect_uri"))
		assert.NilError(t, err)
		var last net.Conn
		for range 257 {
			last, err = net.Dial("tcp", back.Host)
			assert.NilError(t, err)
			defer last.Close()
		}
		assert.NilError(t, last.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = last.Read(make([]byte, 1))
		assert.Assert(t, err != nil && !errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
		return errors.New("enough")
	}}
	w.client(o).fails(auth.StepAuthorize, "enough")
}
