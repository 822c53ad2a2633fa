package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

// at makes a request one to that local address.
func at(r *http.Request, address string) *http.Request {
	var local net.Addr = &net.UnixAddr{Name: address, Net: "unix"}
	if ip := net.ParseIP(address); ip != nil {
		local = &net.TCPAddr{IP: ip, Port: 80}
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
}

func TestHosts(t *testing.T) {
	c := notes(t)
	for _, test := range []struct {
		allowed        []string
		address, host  string
		mayBeReachedAt bool
	}{
		{nil, "127.0.0.1", "localhost", true},
		{nil, "127.0.0.1", "LocalHost:8080", true},
		{nil, "127.0.0.1", "127.0.0.1:8080", true},
		{nil, "127.0.0.1", "[::1]:8080", true},
		{nil, "::1", "[::1]", true},
		{nil, "127.8.9.10", "localhost", true},
		{nil, "127.8.9.10", "127.8.9.10:8080", true},
		{nil, "127.0.0.1", "attacker.test", false},
		{nil, "127.0.0.1", "attacker.test:8080", false},
		{nil, "127.0.0.1", "localhost.attacker.test", false},
		{nil, "127.0.0.1", "attacker.test:localhost", false},
		{nil, "::1", "attacker.test", false},
		{nil, "127.8.9.10", "attacker.test", false},
		{nil, "127.0.0.1", "", false},
		{nil, "127.0.0.1", "[::1", true}, // no web site is called that, either
		{nil, "192.0.2.1", "api.test", true},
		{nil, "/run/api.sock", "api.test", true},
		{[]string{"api.test", "[2001:db8::1]"}, "127.0.0.1", "API.test:443", true},
		{[]string{"api.test", "[2001:db8::1]"}, "192.0.2.1", "[2001:db8::1]:443", true},
		{[]string{"API.test"}, "127.0.0.1", "api.test", true},
		{[]string{"api.test"}, "127.0.0.1", "localhost", false},
		{[]string{"api.test"}, "192.0.2.1", "192.0.2.1", false},
		{[]string{"api.test"}, "192.0.2.1", "attacker.test", false},
	} {
		s := newSurface(c, api.Options{AllowedHosts: test.allowed})
		for _, method := range []string{"POST", "GET"} { // what a page may read is worth as much
			r := at(request(t, method, "/v1/manifest", "{}"), test.address)
			r.Host = test.host
			a := s.try(t, r)
			name := fmt.Sprintf("%v %s %q", test.allowed, test.address, test.host)
			assert.Equal(t, a.Code == 200, test.mayBeReachedAt, name)
			if !test.mayBeReachedAt {
				assert.Equal(t, a.Code, 403, name)
				assert.Equal(t, a.Error.Code, "permission_denied", name)
			}
		}
	}
}

// try is send for what may also be a document.
func (s *surface) try(t *testing.T, r *http.Request) *answer {
	t.Helper()
	if r.Method == "GET" {
		if w := s.get(r); w.Code == 200 {
			return &answer{ResponseRecorder: w}
		}
	}
	return s.send(t, r)
}

func TestPagesOfOtherOrigins(t *testing.T) {
	s := newSurface(notes(t), api.Options{})
	for header, status := range map[string]int{
		"":                              200,
		"Sec-Fetch-Site: none":          200,
		"Sec-Fetch-Site: same-origin":   200,
		"Sec-Fetch-Site: same-site":     403,
		"Sec-Fetch-Site: cross-site":    403,
		"Origin: http://example.com":    200, // the request's own host
		"Origin: http://attacker.test":  403,
		"Origin: null":                  403,
		"Origin: http://example.com:81": 403,
	} {
		a := s.ask(t, "POST", "/v1/old", "{}", strings.Split(header, "\n")...)
		assert.Equal(t, a.Code, status, header)
		for name := range a.Header() {
			assert.Assert(t, !strings.HasPrefix(name, "Access-Control-"), name)
		}
		if status == 403 {
			assert.Equal(t, a.Error.Code, "permission_denied", header)
		}
	}
}

func TestPrincipal(t *testing.T) {
	var answer func() (string, error)
	s := newSurface(notes(t), api.Options{Principal: func(*http.Request) (string, error) {
		return answer()
	}})
	secret := errors.New("token 12345 has expired")
	var none *dispatch.Error
	for _, test := range []struct {
		name   string
		answer func() (string, error)
		status int
		error  string // code and message
		logged string
	}{
		{"known", func() (string, error) { return "ann", nil }, 200, "", ""},
		{"unknown", func() (string, error) {
			return "", secret
		}, 401, "permission_denied: the caller is not known; send valid credentials",
			"token 12345 has expired"},
		{"refused", func() (string, error) {
			return "", dispatch.Errorf(dispatch.PermissionDenied,
				"ann may not call this").With(map[string]int{"n": 1})
		}, 403, "permission_denied: ann may not call this", ""},
		{"refused, wrapped", func() (string, error) {
			return "", fmt.Errorf("%w: %w", secret, dispatch.Errorf("quota_exceeded", "no more"))
		}, 429, "quota_exceeded: no more", ""},
		{"code", func() (string, error) { return "", dispatch.UpstreamError }, 502,
			"upstream_error: Something that this relies on failed.", ""},
		{"typed nil", func() (string, error) {
			return "", none
		}, 500, "internal_error: the caller could not be authenticated; the log has the cause",
			"nil pointer"},
		{"undeclared", func() (string, error) {
			return "", dispatch.Errorf("made_up", "x")
		}, 500, "internal_error: the caller could not be authenticated; the log has the cause", "made_up"},
		{"undeclared code", func() (string, error) {
			return "", dispatch.Code("made_up")
		}, 500, "internal_error: the caller could not be authenticated; the log has the cause", "made_up"},
		{"panic", func() (string, error) {
			panic("broken")
		}, 500, "internal_error: the caller could not be authenticated; the log has the cause",
			"guard_test.go"},
	} {
		answer = test.answer
		for method, remote := range map[string]string{"POST": "192.0.2.1:1", "GET": "192.0.2.2:1"} {
			// each of which has a line
			before := len(s.log.String())
			r := request(t, method, "/v1/manifest", "{}", "X-Request-Id: r-7")
			r.RemoteAddr = remote
			a := s.try(t, r)
			assert.Equal(t, a.Code, test.status, test.name)
			if test.error != "" {
				assert.Equal(t, a.Error.Code+": "+a.Error.Message, test.error, test.name)
			}
			assert.Equal(t, a.Header().Get("WWW-Authenticate") != "", test.status == 401, test.name)
			logged := s.log.String()[before:]
			assert.Equal(t, logged != "", test.logged != "", "%s: %s", test.name, logged)
			assert.Assert(t, strings.Contains(logged, test.logged) &&
				(logged == "" || strings.Contains(logged, "request=r-7")), "%s: %s", test.name,
				logged)
		}
	}
	// Who is not known learns nothing, not even what operations there are; what is no request at
	// all is refused before.
	answer = func() (string, error) { return "", secret }
	assert.Equal(t, s.ask(t, "POST", "/v1/nope", "{}").Code, 401)
	assert.Equal(t, s.ask(t, "POST", "/v1/old", "nope").Code, 401)
	assert.Equal(t, s.ask(t, "POST", "/nope", "{}").Code, 404)
}
