package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	clientauth "github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/server/auth"
)

// request returns the context of a request with these headers, in pairs.
func request(id *auth.Identity, principal string, pairs ...string) context.Context {
	r := httptest.NewRequest("POST", "/mcp", nil)
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	var ctx context.Context
	Inbound(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx = r.Context()
	})).ServeHTTP(httptest.NewRecorder(), r)
	if id != nil {
		ctx = auth.WithIdentity(ctx, id)
	}
	return context.WithValue(ctx, contextkey.Principal{}, principal)
}

var ada = &auth.Identity{Issuer: "https://as.example", Subject: "ada", ClientID: "app",
	Groups: []string{"a", "b c"}, Scopes: []string{"x", "y"},
	Claims: map[string]json.RawMessage{"org": []byte(`"acme"`), "level": []byte(`3`),
		"nul": []byte(`"a\u0000b"`)}}

// Each value comes from where the definition says, and what is missing is an error that names it.
func TestUser(t *testing.T) {
	const principal = "https://as.example#ada"
	exchange := config.Credentials{Type: config.CredentialExchange}
	bySubject := config.Credentials{Type: config.CredentialIDJAG, SubjectHeader: "X-Id-Token"}
	header := config.Credentials{Type: config.CredentialHeader,
		Headers: map[string]string{"X-Key": "X-Api-Key"}}
	env := func(value string) config.Credentials {
		return config.Credentials{Type: config.CredentialEnv, Env: map[string]string{"V": value}}
	}
	for _, tc := range []struct {
		c    config.Credentials
		ctx  context.Context
		want string // or the error
	}{
		{header, request(ada, principal, "x-key", "k"), "map[X-Api-Key:k]"},
		{header, request(ada, principal, "X-Other", "k"), "needs the header X-Key"},
		{header, request(ada, principal, "X-Key", ""), "needs the header X-Key"},
		{header, request(ada, principal, "X-Key", "a", "X-Key", "b"), "needs the header X-Key"},
		{header, context.Background(), "did not come over HTTP"},
		{env("subject"), request(ada, principal), "map[V:ada]"},
		{env("subject"), request(nil, "bob"), "map[V:bob]"},
		{env("issuer"), request(ada, principal), "map[V:https://as.example]"},
		{env("issuer"), request(nil, "bob"), "needs the issuer of its callers"},
		{env("client_id"), request(ada, principal), "map[V:app]"},
		{env("scopes"), request(ada, principal), "map[V:x y]"},
		{env("scopes"), request(nil, "bob"), "map[V:]"},
		{env("groups"), request(ada, principal), `map[V:["a","b c"]]`},
		{env("groups"), request(nil, "bob"), `map[V:[]]`},
		{env("claim:org"), request(ada, principal), "map[V:acme]"},
		{env("claim:level"), request(ada, principal), "map[V:3]"},
		{env("claim:none"), request(ada, principal), "needs the claim:none of its callers"},
		{env("claim:nul"), request(ada, principal), "needs the claim:nul of its callers"},
		{env("header:X-Key"), request(nil, "bob", "X-Key", "k"), "map[V:k]"},
		{env("header:X-Key"), request(nil, "bob"), "needs the header X-Key"},
		{exchange, request(ada, principal, "Authorization", "bearer  t0ken"), "t0ken"},
		{exchange, request(ada, principal, "Authorization", "DPoP t0ken"), "t0ken"},
		{exchange, request(ada, principal, "Authorization", "Basic t0ken"), "needs an access token"},
		{exchange, request(ada, principal), "needs an access token"},
		// a token that no authorization server has issued, such as the gateway's own, stays here
		{exchange, request(nil, "token", "Authorization", "Bearer t0ken"), "needs an access token"},
		{exchange, request(&auth.Identity{Issuer: "tokens", Subject: "ci"}, "tokens#ci",
			"Authorization", "Bearer t0ken"), "needs an access token"},
		{bySubject, request(nil, "token", "X-Id-Token", "id"), "id"},
		{bySubject, request(ada, principal, "Authorization", "Bearer t0ken"),
			"needs the header X-Id-Token"},
	} {
		_, value, err := NewSelector(&tc.c).User(tc.ctx)
		if err != nil {
			assert.Check(t, cmp.ErrorContains(err, tc.want))
			assert.Check(t, !strings.Contains(err.Error(), "t0ken"))
			continue
		}
		u := value.(*User)
		got := u.subject
		for _, values := range []map[string]string{u.header, u.env} {
			if values != nil {
				got = fmt.Sprint(values)
			}
		}
		assert.Check(t, cmp.Equal(got, tc.want))
		assert.Check(t, cmp.Equal(fmt.Sprintf("%v %+v %s", u, u, u), "a user a user a user"))
	}
}

// Requests share a connection if they have the same principal and the server gets the same.
func TestUserNames(t *testing.T) {
	s := NewSelector(&config.Credentials{Type: config.CredentialHeader,
		Headers: map[string]string{"A": "B", "C": "D"}})
	names := map[string]string{}
	for _, r := range []struct{ principal, a, c string }{
		{"ada", "1", "2"}, {"ada", "12", "2"}, {"ada", "1", "22"}, {"bob", "1", "2"},
		{"ada 1", "1", "2"}} {
		name, _, err := s.User(request(nil, r.principal, "A", r.a, "C", r.c, "Authorization", "x"))
		assert.NilError(t, err)
		again, _, err := s.User(request(nil, r.principal, "C", r.c, "A", r.a, "E", "y"))
		assert.NilError(t, err)
		assert.Equal(t, name, again)
		assert.Equal(t, names[name], "", name)
		names[name] = r.principal
		assert.Assert(t, strings.HasPrefix(name, r.principal+" "))
	}
	// Tokens change, and the user stays; but what one token permits, another one may not.
	exchange := NewSelector(&config.Credentials{Type: config.CredentialExchange})
	other := *ada
	other.Scopes = append([]string{"other"}, ada.Scopes...)
	names = map[string]string{}
	for _, id := range []*auth.Identity{ada, &other} {
		name, _, err := exchange.User(request(id, id.Principal(), "Authorization", "Bearer 1"))
		assert.NilError(t, err)
		again, _, err := exchange.User(request(id, id.Principal(), "Authorization", "Bearer 2"))
		assert.NilError(t, err)
		assert.Equal(t, name, again)
		assert.Equal(t, names[name], "")
		names[name] = name
		assert.Assert(t, strings.HasPrefix(name, id.Principal()+" "))
	}
}

// A token that was refused is not used again for 30 s, another one is.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSelector(&config.Credentials{Type: config.CredentialExchange})
		use := func(token string) (*User, error) {
			_, value, err := s.User(request(ada, "ada", "Authorization", "Bearer "+token))
			u, _ := value.(*User)
			return u, err
		}
		u, err := use("one")
		assert.NilError(t, err)
		s.Failed(u, errors.New("the network is down"))
		s.Failed(u, &clientauth.Error{Step: clientauth.StepExchange, Status: 503})
		s.Failed(u, nil)
		_, err = use("one")
		assert.NilError(t, err)
		refused := &clientauth.Error{Step: clientauth.StepExchange, Status: 400}
		s.Failed(u, fmt.Errorf("start: %w", refused))
		_, err = use("one")
		assert.ErrorContains(t, err, "cannot be called for this user: start: token exchange: 400")
		assert.Assert(t, errors.Is(err, refused))
		_, err = use("two")
		assert.NilError(t, err)
		for i := range 2 * maxRefusals {
			s.Failed(&User{subject: fmt.Sprint(i)}, refused)
		}
		assert.Equal(t, len(s.refused), maxRefusals)
		time.Sleep(refusalTime + time.Second)
		_, err = use("one")
		assert.NilError(t, err)
		s.Failed(u, refused)
		assert.Equal(t, len(s.refused), 1)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A user's headers replace others of these names, go to the server's origin only, and are always
// those of the latest request.
func TestHeaders(t *testing.T) {
	user := &User{header: map[string]string{"Authorization": "Key one"}}
	wrap, err := Wrap(&config.Endpoint{URL: "https://s.example/mcp",
		Credentials: &config.Credentials{Type: config.CredentialHeader}},
		func() *User { return user }, nil, nil)
	assert.NilError(t, err)
	var sent []string
	rt := wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.URL.Host+" "+r.Header.Get("Authorization"))
		return nil, http.ErrHandlerTimeout
	}))
	send := func(to string) error {
		u, err := url.Parse(to)
		assert.NilError(t, err)
		r := &http.Request{Method: "POST", URL: u, Header: http.Header{}}
		r.Header.Set("Authorization", "static")
		_, err = rt.RoundTrip(r)
		assert.Equal(t, r.Header.Get("Authorization"), "static", "the request itself stays")
		return err
	}
	assert.Equal(t, send("https://s.example/mcp"), http.ErrHandlerTimeout)
	user = &User{header: map[string]string{"Authorization": "Key two"}}
	assert.Equal(t, send("https://s.example/other"), http.ErrHandlerTimeout)
	assert.Equal(t, send("https://evil.example/mcp"), http.ErrHandlerTimeout)
	assert.Equal(t, send("http://s.example/mcp"), http.ErrHandlerTimeout)
	user = nil
	assert.Equal(t, send("https://s.example/mcp"), errNoUser)
	assert.DeepEqual(t, sent, []string{"s.example Key one", "s.example Key two",
		"evil.example static", "s.example static"})
}

// Enterprise-managed authorization: the identity provider vouches for the user, and the server's
// authorization server issues the token. Neither the server nor the other of the two sees more.
func TestIDJAG(t *testing.T) {
	var seen []string
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	answer := func(w http.ResponseWriter, format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, format, args...)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			answer(w, `{"resource":"%[1]s/mcp","authorization_servers":["%[1]s"]}`, web.URL)
		})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server",
		func(w http.ResponseWriter, _ *http.Request) {
			answer(w, `{"issuer":"%[1]s","token_endpoint":"%[1]s/token",`+
				`"token_endpoint_auth_methods_supported":["client_secret_basic"]}`, web.URL)
		})
	mux.HandleFunc("POST /idp", func(w http.ResponseWriter, r *http.Request) {
		id, _, _ := r.BasicAuth()
		seen = append(seen, "idp "+id+" "+r.PostFormValue("subject_token")+" "+
			r.PostFormValue("audience"))
		answer(w, `{"access_token":"assertion","token_type":"N_A","expires_in":60,`+
			`"issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}`)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, _, _ := r.BasicAuth()
		seen = append(seen, "token "+id+" "+r.PostFormValue("assertion"))
		answer(w, `{"access_token":"of-ada","token_type":"Bearer","expires_in":60}`)
	})
	mux.HandleFunc("/mcp", func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, "mcp "+r.Header.Get("Authorization"))
	})
	user := &User{subject: "id-of-ada"}
	wrap, err := Wrap(&config.Endpoint{URL: web.URL + "/mcp",
		OAuth: &config.OAuth{ClientID: "here", ClientSecret: "s", Issuer: web.URL},
		Credentials: &config.Credentials{Type: config.CredentialIDJAG, ClientID: "there",
			ClientSecret: "s3cret", TokenEndpoint: web.URL + "/idp"}},
		func() *User { return user }, nil, nil)
	assert.NilError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+"/mcp", nil)
	assert.NilError(t, err)
	resp, err := wrap(http.DefaultTransport).RoundTrip(r)
	assert.NilError(t, err)
	assert.NilError(t, resp.Body.Close())
	assert.DeepEqual(t, seen, []string{"mcp ", "idp there id-of-ada " + web.URL, "token here assertion",
		"mcp Bearer of-ada"})
}

// answers is a server that answers every request so.
type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// What a server quotes of a user's header in an error does not reach logs and statuses.
func TestErrorsQuoteNoHeader(t *testing.T) {
	user := &User{header: map[string]string{"X-Key": "key-0123"}}
	wrap, err := Wrap(&config.Endpoint{URL: "https://up.example/mcp",
		Credentials: &config.Credentials{Type: config.CredentialHeader}},
		func() *User { return user }, nil, nil)
	assert.NilError(t, err)
	for status, want := range map[int]string{200: "the key key-0123 …", 401: "the key … …"} {
		up := answers(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: status, Header: http.Header{}, Request: r,
				Body: io.NopCloser(strings.NewReader("the key " + r.Header.Get("X-Key") + " …"))}
		})
		request, err := http.NewRequest("POST", "https://up.example/mcp", nil)
		assert.NilError(t, err)
		response, err := wrap(up).RoundTrip(request)
		assert.NilError(t, err)
		text, err := io.ReadAll(response.Body)
		assert.NilError(t, err)
		assert.Equal(t, string(text), want)
	}
}
