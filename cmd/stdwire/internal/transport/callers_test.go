package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tokenfile"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// who describes the caller of a request, as its handler sees it.
func who(ctx context.Context) string {
	text := dispatch.PrincipalFrom(ctx)
	if id := auth.IdentityFrom(ctx); id != nil {
		encoded, _ := json.Marshal(map[string]any{"issuer": id.Issuer, "subject": id.Subject,
			"groups": id.Groups, "scopes": id.Scopes, "claims": id.Claims})
		text += " " + string(encoded)
	}
	return text
}

// A calledSite serves a tool and an operation that say who calls, and one that waits.
type calledSite struct {
	t     *testing.T
	url   string
	begun chan struct{}
	ended chan error
}

// Access tokens are those that verify knows, if it is given.
func serveCallers(t *testing.T, flags *HTTPFlags, verify ...auth.Verifier) *calledSite {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := httptest.NewUnstartedServer(nil)
	c, err := flags.callers(termtest.Capture(false).Streams, &httpListener{Listener: s.Listener},
		log)
	assert.NilError(t, err)
	t.Cleanup(c.close)
	for _, verify := range verify {
		c.resource, err = auth.Options{Resource: "https://mcp.example.com/mcp", Verify: verify,
			AuthorizationServers: []string{"https://as.example.com"}, Logger: log}.New()
		assert.NilError(t, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	c.follow(ctx, func(f func()) { go f() })
	site := &calledSite{t, "", make(chan struct{}, 9), make(chan error, 9)}
	catalog := dispatch.NewCatalog()
	type text struct {
		Text string `json:"text"`
	}
	dispatch.Add(catalog, dispatch.Spec{Name: "say.who", Summary: "Says who calls.",
		Type: dispatch.Wait}, func(ctx context.Context, _ struct{}) (text, error) {
		return text{who(ctx)}, nil
	})
	dispatch.Add(catalog, dispatch.Spec{Name: "say.wait", Summary: "Waits.", Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (text, error) {
			site.begun <- struct{}{}
			<-ctx.Done()
			site.ended <- context.Cause(ctx)
			return text{}, context.Cause(ctx)
		})
	mux := http.NewServeMux()
	o := streamable.Options{Logger: log, Authorize: c.authorize}
	handler := o.New(server.Options{Logger: log}.New(server.Info{Name: "x", Version: "1"}, catalog))
	t.Cleanup(handler.Close)
	mux.Handle(mainPath, handler)
	mux.Handle(apiPath, identify(c.authorize, api.Options{Principal: apiPrincipal, Logger: log}.New(
		dispatch.Options{Logger: log}.New(catalog))))
	s.Config.Handler = mux
	if flags.tls.clientCA != "" {
		s.Config.Handler = withCertificates(mux)
	}
	s.Start()
	t.Cleanup(s.Close)
	site.url = s.URL
	return site
}

// withCertificates serves clients with certificates, whose name is what follows a @ in the token.
func withCertificates(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization, name, _ := strings.Cut(r.Header.Get("Authorization"), "@")
		r.Header.Set("Authorization", authorization)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{
			{NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}},
			{Subject: pkix.Name{CommonName: "ca"}}}}}
		next.ServeHTTP(w, r)
	})
}

func (s *calledSite) ask(method, path, body, token string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	assert.NilError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	assert.NilError(s.t, err)
	s.t.Cleanup(func() { response.Body.Close() })
	return response
}

func (s *calledSite) text(r *http.Response) string {
	s.t.Helper()
	text, err := io.ReadAll(r.Body)
	assert.NilError(s.t, err)
	return string(text)
}

const initializeText = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func callText(tool string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
}

// open opens a session.
func (s *calledSite) open(token string) (id string) {
	s.t.Helper()
	r := s.ask("POST", mainPath, initializeText, token)
	assert.Equal(s.t, r.StatusCode, 200, s.text(r))
	return r.Header.Get(mcp.HeaderSessionID)
}

// add adds a token to a file.
func add(t *testing.T, path, name string, groups ...string) (secret string) {
	t.Helper()
	token, secret := tokenfile.New(name, time.Now())
	token.Groups, token.Scopes = groups, []string{"read"}
	assert.NilError(t, tokenfile.Add(t.Context(), path, token))
	return secret
}

// Each named token is a caller of its own, for MCP and the HTTP API; the single token has no name.
func TestNamedTokens(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens.json")
	ada, bob := add(t, path, "ada", "g"), add(t, path, "bob")
	store(t, dir, map[string][]byte{"single": []byte("0123456789abcdef\n")})
	s := serveCallers(t, &HTTPFlags{token: bearerTokens{named: path,
		file: filepath.Join(dir, "single")}})
	for token, want := range map[string]string{
		ada:                `token#ada {\"claims\":null,\"groups\":[\"g\"],\"issuer\":\"token\",\"scopes\":[\"read\"],\"subject\":\"ada\"}`,
		bob:                `token#bob {\"claims\":null,\"groups\":null,\"issuer\":\"token\",\"scopes\":[\"read\"],\"subject\":\"bob\"}`,
		"0123456789abcdef": `"text":"token"`,
	} {
		r := s.ask("POST", mainPath, callText("say_who"), token, mcp.HeaderSessionID, s.open(token))
		text := s.text(r)
		assert.Assert(t, strings.Contains(text, want), text)
		text = s.text(s.ask("POST", "/v1/say", `{"action":"who","params":{}}`, token))
		assert.Assert(t, strings.Contains(text, want), text)
	}
	session := s.open(ada)
	for _, wrong := range []string{"", "x", ada + "x", ada[:40], strings.ToUpper(ada),
		"0123456789abcdef0"} {
		for _, path := range []string{mainPath, "/v1/say"} {
			r := s.ask("POST", path, callText("say_who"), wrong, mcp.HeaderSessionID, session)
			assert.Equal(t, r.StatusCode, 401)
			assert.Equal(t, r.Header.Get("WWW-Authenticate"), "Bearer")
		}
	}
	assert.Equal(t, s.ask("POST", mainPath, callText("say_who"), bob, mcp.HeaderSessionID,
		session).StatusCode, 404, "the session of another")
}

// endsWhatItOpened tests that a revocation ends the calls, the session and the stream that a token
// has opened, although nobody sends a request; those of others go on. Then the token is refused
// with a status. It returns the session.
func (s *calledSite) endsWhatItOpened(ada, bob string, revoke func() error,
	status int) (adas string) {
	t := s.t
	adas, bobs := s.open(ada), s.open(bob)
	stream := s.ask("GET", mainPath, "", ada, mcp.HeaderSessionID, adas)
	other := s.ask("GET", mainPath, "", bob, mcp.HeaderSessionID, bobs)
	assert.Equal(t, stream.StatusCode, 200)
	assert.Equal(t, other.StatusCode, 200)
	type answered struct {
		status int
		text   string
	}
	answers := make(chan answered, 2)
	for path, body := range map[string]string{mainPath: callText("say_wait"),
		"/v1/say": `{"action":"wait","params":{}}`} {
		go func() {
			r := s.ask("POST", path, body, ada, mcp.HeaderSessionID, adas)
			answers <- answered{r.StatusCode, s.text(r)}
		}()
		<-s.begun
	}
	assert.NilError(t, revoke())
	for range 2 {
		assert.Assert(t, <-s.ended != nil)
	}
	for range 2 {
		a := <-answers
		assert.Assert(t, a.status >= 400, "%+v", a)
	}
	_ = s.text(stream) // it ends
	for _, path := range []string{mainPath, "/v1/say"} {
		assert.Equal(t, s.ask("POST", path, callText("say_who"), ada, mcp.HeaderSessionID,
			adas).StatusCode, status, path)
	}
	assert.Equal(t, s.ask("POST", mainPath, callText("say_who"), bob, mcp.HeaderSessionID,
		bobs).StatusCode, 200)
	return adas
}

// An access token, which this server cannot revoke, is refused together with all of its user's.
func TestRefusedUserLosesWhatHeOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	add(t, path, "ci")
	s := serveCallers(t, &HTTPFlags{token: bearerTokens{named: path}},
		func(_ context.Context, token string) (*auth.Identity, error) {
			return &auth.Identity{Issuer: "https://as.example.com", Subject: token,
				Expires: time.Now().Add(time.Hour)}, nil
		})
	s.endsWhatItOpened("ada", "bob", func() error {
		return tokenfile.Refuse(t.Context(), path, tokenfile.Refusal{
			Principal: "https://as.example.com#ada", Until: time.Now().Add(time.Hour)})
	}, 403)
	r := s.ask("POST", mainPath, initializeText, "ada")
	assert.Equal(t, r.StatusCode, 403)
	assert.Assert(t, strings.Contains(s.text(r), "access was revoked"))
}

// Who has a certificate loses what he has opened even if his clients send the token that has no
// name, and so leaves it to the certificate who they are.
func TestRefusedCertificateLosesWhatItOpened(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens.json")
	ci := add(t, path, "ci")
	store(t, dir, map[string][]byte{"single": []byte("0123456789abcdef\n")})
	s := serveCallers(t, &HTTPFlags{tls: tlsFlags{clientCA: "ca.pem"},
		token: bearerTokens{named: path, file: filepath.Join(dir, "single")}})
	s.endsWhatItOpened("0123456789abcdef@ada", "0123456789abcdef@bob", func() error {
		return tokenfile.Refuse(t.Context(), path, tokenfile.Refusal{
			Principal: "x509:CN=ca#ada", Until: time.Now().Add(time.Hour)})
	}, 403)
	s.open(ci + "@ada") // a token with a name says who he is
}

func TestRevokedTokenEndsWhatItOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	ada, bob := add(t, path, "ada"), add(t, path, "bob")
	s := serveCallers(t, &HTTPFlags{token: bearerTokens{named: path}})
	adas := s.endsWhatItOpened(ada, bob, func() error {
		return tokenfile.Revoke(t.Context(), path, "ada")
	}, 401)

	// the same name again: what was opened before stays closed
	again := add(t, path, "ada")
	for s.ask("POST", mainPath, initializeText, again).StatusCode != 200 {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("the new token is not accepted")
		}
	}
	assert.Equal(t, s.ask("POST", mainPath, callText("say_who"), again, mcp.HeaderSessionID,
		adas).StatusCode, 404)
}

// The flags for tokens that cannot be used are refused with a remedy.
func TestTokenFlagsRefused(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, map[string][]byte{"wrong": []byte(`{"tokens":[],"token":1}`)})
	for _, tt := range []struct {
		flags HTTPFlags
		want  string
	}{
		{HTTPFlags{Address: "127.0.0.1:0", noAuth: true, token: bearerTokens{named: "x"}},
			"--no-auth and --tokens exclude each other"},
		{HTTPFlags{token: bearerTokens{named: "x"}}, "--tokens is for clients over HTTP"},
		{HTTPFlags{Address: "127.0.0.1:0", token: bearerTokens{named: filepath.Join(dir, "none")}},
			"--tokens: "},
		{HTTPFlags{Address: "127.0.0.1:0", token: bearerTokens{named: filepath.Join(dir, "wrong")}},
			`the file has the unknown member "token": did you mean tokens?`},
	} {
		err := tt.flags.Check()
		if err == nil {
			_, err = tt.flags.callers(termtest.Capture(false).Streams, nil,
				slog.New(slog.DiscardHandler))
		}
		assert.ErrorContains(t, err, tt.want)
	}
}

// A token that outlives the certificate of its caller ends with it, and the other way round.
func TestEarlierExpiry(t *testing.T) {
	soon, now := time.Now().Add(time.Minute), time.Now()
	resource, err := auth.Options{Resource: "https://gw.example/mcp",
		AuthorizationServers: []string{"https://as.example"}, Logger: slog.New(slog.DiscardHandler),
		Verify: func(_ context.Context, token string) (*auth.Identity, error) {
			id := &auth.Identity{Issuer: "https://as.example", Subject: "ada"}
			switch token {
			case "hour":
				id.Expires = now.Add(time.Hour)
			case "second":
				id.Expires = now.Add(time.Second * 30)
			}
			return id, nil
		}}.New()
	assert.NilError(t, err)
	c := &callers{certificates: true, resource: resource}
	for token, want := range map[string]time.Time{"hour": soon, "second": now.Add(time.Second * 30),
		"endless": soon} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{NotAfter: soon}, {}}}}
		caller, err := c.authorize(r)
		assert.NilError(t, err)
		assert.Assert(t, caller.Expires.Equal(want), "%s: %v", token, caller.Expires)
	}
}

// The subject is a name that the authority has verified, and no name of one kind is like one of
// another.
func TestCertificateIdentity(t *testing.T) {
	authority := &x509.Certificate{Subject: pkix.Name{CommonName: "CA", Organization: []string{"acme"}}}
	spiffe, err := url.Parse("spiffe://acme/ci")
	assert.NilError(t, err)
	until := time.Now().Add(time.Hour)
	name := pkix.Name{CommonName: "ci.example", OrganizationalUnit: []string{"build", "ops"}}
	for _, tt := range []struct {
		certificate x509.Certificate
		principal   string
		claims      string
	}{
		{x509.Certificate{Subject: name, URIs: []*url.URL{spiffe}, DNSNames: []string{"a.example"},
			EmailAddresses: []string{"a@example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}},
			"x509:CN=CA,O=acme#spiffe://acme/ci",
			`{"cn":["ci.example"],"dns":["a.example"],"email":["a@example"],"ip":["127.0.0.1"],"uri":["spiffe://acme/ci"]}`},
		{x509.Certificate{Subject: name, DNSNames: []string{"a.example", "b.example"},
			EmailAddresses: []string{"a@example"}}, "x509:CN=CA,O=acme#a.example",
			`{"cn":["ci.example"],"dns":["a.example","b.example"],"email":["a@example"]}`},
		{x509.Certificate{Subject: name, EmailAddresses: []string{"a@example"}},
			"x509:CN=CA,O=acme#a@example", `{"cn":["ci.example"],"email":["a@example"]}`},
		{x509.Certificate{Subject: name}, "x509:CN=CA,O=acme#CN=ci.example,OU=build+OU=ops",
			`{"cn":["ci.example"]}`},
		{x509.Certificate{RawSubjectPublicKeyInfo: []byte("key")},
			"x509:CN=CA,O=acme#sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683",
			`{}`},
	} {
		tt.certificate.NotAfter = until
		id := identityOf(&tt.certificate, authority)
		assert.Equal(t, id.Principal(), tt.principal)
		claims, err := json.Marshal(id.Claims)
		assert.NilError(t, err)
		assert.Equal(t, string(claims), tt.claims)
		assert.DeepEqual(t, id.Groups, tt.certificate.Subject.OrganizationalUnit)
		assert.Assert(t, id.Expires.Equal(until))
	}
	odd := &x509.Certificate{Subject: pkix.Name{CommonName: "a#b"}}
	assert.Equal(t, identityOf(&x509.Certificate{Subject: name}, odd).Issuer, "x509:CN=a%23b")
}
