package auth

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestURLsMustBeSafe(t *testing.T) {
	for text, want := range map[string]string{
		"https://as.example/x": "", "http://localhost:80/x": "", "http://LOCALHOST/": "",
		"http://127.0.0.1/": "", "http://127.9.9.9/": "", "http://[::1]:8/": "",
		"http://[::ffff:127.0.0.1]/": "",
		"http://as.example/":         "must be https:", "http://10.0.0.1/": "must be https:",
		"http://localhost.example/": "must be https:", "http://0.0.0.0/": "must be https:",
		"ftp://as.example/": "must be https:",
		"https:///x":        "has no host", "https:as.example": "has no host",
		"/x": "has no host", "": "has no host", "https://u@as.example/": "must not contain a user",
		"https://as.example/#x": "must not have a fragment",
		"https://as.example:x/": "not a URL",
	} {
		err := checkURL(text)
		if want == "" {
			assert.NilError(t, err, text)
			continue
		}
		assert.ErrorContains(t, err, want, text)
	}
}

func TestPrivateAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true,
		"169.254.169.254": true, "fe80::1": true, "fd00::1": true, "0.0.0.0": true, "::": true,
		"100.64.0.1": true,
		"224.0.0.1":  true, "255.255.255.255": true, "::ffff:10.0.0.1": true,
		"64:ff9b::a00:1": true, "2002:a00:1::": true, "198.18.0.1": true, "0.1.2.3": true,
		"192.0.0.8": true,
		"8.8.8.8":   false, "2606:4700::1111": false, "172.32.0.1": false, "100.128.0.1": false,
		"::ffff:8.8.8.8": false,
	} {
		assert.Equal(t, isPrivate(netip.MustParseAddr(text)), want, text)
	}
}

// A public MCP server must not make the client connect to private addresses. The connected address
// counts, whatever the name. Servers at private addresses may name others there.
func TestPublicServersMustNotLeadToPrivateAddresses(t *testing.T) {
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
	}))
	defer inside.Close()
	for _, tc := range []struct {
		private, public, allow bool
		want                   bool
	}{
		{false, false, false, false}, {false, true, false, false}, {true, true, false, false},
		{true, false, false, true}, {false, true, true, true},
	} {
		a, err := Options{AllowPrivate: tc.allow}.New("https://mcp.example/mcp")
		assert.NilError(t, err)
		a.sawPrivate.Store(tc.private)
		a.sawPublic.Store(tc.public)
		asked = 0
		for _, where := range []string{inside.URL,
			strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)} {
			_, err = a.get(t.Context(), StepResource, where, http.Header{})
			if tc.want {
				assert.NilError(t, err)
				continue
			}
			assert.ErrorContains(t, err,
				"is a private address, but the MCP server has a public one: not connected")
		}
		assert.Equal(t, asked > 0, tc.want)
	}
}

// The connections to the server show whether its address is private.
func TestPrivateAddressOfTheServer(t *testing.T) {
	mcp := httptest.NewServer(http.NotFoundHandler())
	defer mcp.Close()
	a, err := Options{}.New(mcp.URL)
	assert.NilError(t, err)
	req, err := http.NewRequest("GET", mcp.URL, nil)
	assert.NilError(t, err)
	resp, err := a.Wrap(nil).RoundTrip(req)
	assert.NilError(t, err)
	assert.NilError(t, resp.Body.Close())
	assert.Assert(t, a.sawPrivate.Load() && !a.sawPublic.Load())

	t.Setenv("HTTP_PROXY", mcp.URL)
	a = &Authorizer{proxied: true} // then the address is unknown
	_, err = (&http.Transport{}).RoundTrip(req.WithContext(a.traceAddress(t.Context())))
	assert.NilError(t, err)
	assert.Assert(t, !a.sawPrivate.Load())
}

// An expired token of a server at a private address is refreshed before the first request to that
// server.
func TestExpiredTokenOfPrivateServer(t *testing.T) {
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	defer site.Close()
	says := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text)
		})
	}
	endpoint := site.URL + "/mcp"
	says("/.well-known/oauth-protected-resource/mcp", `{"resource":"`+endpoint+
		`","authorization_servers":["`+site.URL+`"]}`)
	says("/.well-known/oauth-authorization-server", `{"issuer":"`+site.URL+`","token_endpoint":"`+
		site.URL+`/token"}`)
	says("/token", `{"access_token":"new","token_type":"Bearer"}`)
	var sent []string
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(401)
		}
	})
	store := FileStore{Dir: t.TempDir()}
	old := Credentials{
		Key: Key{Endpoint: endpoint, Issuer: site.URL, Resource: endpoint,
			Grant: grantAuthorizationCode},
		Registration: Registration{Issuer: site.URL, ClientID: "x"},
		Type:         bearer, AccessToken: "old", RefreshToken: "r", Expires: time.Unix(1e9, 0),
	}
	assert.NilError(t, store.Put(old))
	a, err := Options{Store: store}.New(endpoint)
	assert.NilError(t, err)
	call := func() (*http.Response, error) {
		req, err := http.NewRequest("POST", endpoint, nil)
		assert.NilError(t, err)
		return a.Wrap(nil).RoundTrip(req)
	}
	resp, err := call()
	assert.NilError(t, err)
	assert.NilError(t, resp.Body.Close())
	assert.Equal(t, resp.StatusCode, 200)
	assert.DeepEqual(t, sent, []string{"GET ", "POST Bearer new"})

	// If the server cannot be reached, the request itself fails.
	assert.NilError(t, store.Put(old))
	site.Close()
	a, err = Options{Store: store}.New(endpoint)
	assert.NilError(t, err)
	_, err = call()
	_, step := errors.AsType[*Error](err)
	assert.Assert(t, !step && err != nil, "%v", err)
}

// A server without TLS receives a token only on the loopback interface.
func TestTokensMustBeSentOverTLS(t *testing.T) {
	a, err := Options{Grant: ClientCredentials{}}.New("http://mcp.example/mcp")
	assert.NilError(t, err)
	rt := a.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
		assert.Equal(t, req.Header.Get("Authorization"), "")
		return &http.Response{StatusCode: 401, Header: http.Header{}, Body: http.NoBody,
			Request: req}, nil
	}))
	req, err := http.NewRequest("GET", "http://mcp.example/mcp", nil)
	assert.NilError(t, err)
	_, err = rt.RoundTrip(req)
	assert.ErrorContains(t, err, "the URL must be https:, or http: on this machine")
}

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer scope="a b", error=x, DPoP algs="ES256"`)
	f.Add(`DPoP error="use_dpop_nonce", Bearer resource_metadata="https://x"`)
	f.Fuzz(func(t *testing.T, header string) {
		w := parseChallenge(http.Header{"Www-Authenticate": {header}})
		assert.Assert(t, len(w.scopes) <= maxScopes)
		for _, scope := range w.scopes {
			assert.Assert(t, isScope(scope))
		}
		assert.Assert(t, !w.otherSchemes || !w.dpopRequired)
	})
}
