package auth_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

const (
	issuerURL = "https://auth.example.com"
	resource  = "https://mcp.example.com/mcp"
	metadata  = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
)

// An issuer is an authorization server, in memory: an [http.RoundTripper] that answers for it.
type issuer struct {
	t      testing.TB
	signer *jose.Signer

	mu      sync.Mutex
	keys    []string                                 // JWKs
	asked   map[string]int                           // how often, by path
	answers map[string]func(*http.Request) *response // by path; nil: as usual
}

type response struct {
	status int
	header http.Header
	body   string
}

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newSigner(t testing.TB, alg jose.Algorithm) *jose.Signer {
	t.Helper()
	var s *jose.Signer
	var err error
	switch alg {
	case jose.RS256, jose.PS256:
		s, err = jose.NewSigner(rsaKey(), alg)
	case jose.EdDSA:
		_, private, genErr := ed25519.GenerateKey(rand.Reader)
		assert.NilError(t, genErr)
		s, err = jose.NewSigner(private, alg)
	default:
		private, genErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		assert.NilError(t, genErr)
		s, err = jose.NewSigner(private, jose.ES256)
	}
	assert.NilError(t, err)
	return s
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t, signer: newSigner(t, jose.ES256), asked: map[string]int{},
		answers: map[string]func(*http.Request) *response{}}
	i.publish(jwk(t, i.signer, "k1"))
	return i
}

func jwk(t testing.TB, s *jose.Signer, id string) string {
	t.Helper()
	text, err := s.Key().WithID(id).MarshalJSON()
	assert.NilError(t, err)
	return string(text)
}

// publish has the issuer serve these keys from now on.
func (i *issuer) publish(keys ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// answer has the issuer answer so on a path.
func (i *issuer) answer(path string, with func(*http.Request) *response) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[path] = with
}

func (i *issuer) count(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

const (
	keysPath = "/keys"
	metaPath = "/.well-known/oauth-authorization-server"
	oidcPath = "/.well-known/openid-configuration"
	askPath  = "/introspect"
)

// RoundTrip implements [http.RoundTripper].
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked[r.URL.Path]++
	answer, keys := i.answers[r.URL.Path], strings.Join(i.keys, ",")
	i.mu.Unlock()
	a := &response{status: 404}
	switch {
	case answer != nil:
		a = answer(r)
	case r.URL.Path == keysPath:
		a = &response{200, nil, `{"keys":[` + keys + `]}`}
	case r.URL.Path == metaPath:
		a = &response{200, nil, `{"issuer":"` + issuerURL + `","jwks_uri":"` + issuerURL +
			keysPath + `","introspection_endpoint":"` + issuerURL + askPath + `"}`}
	}
	if a == nil {
		return nil, errors.New("no route to host")
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	maps.Copy(rec.Header(), a.header)
	rec.WriteHeader(a.status)
	rec.WriteString(a.body)
	res := rec.Result()
	res.Request = r
	return res, nil
}

func (i *issuer) client() *http.Client { return &http.Client{Transport: i} }

// claims are those of a good token, with changes: nil takes one away.
type claims map[string]any

func good(changes claims) claims {
	c := claims{
		"iss": issuerURL, "sub": "alice", "aud": resource, "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix(), "scope": "mcp", "client_id": "app",
	}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func sign(t testing.TB, s *jose.Signer, h jose.Header, c any) string {
	t.Helper()
	token, err := s.Sign(h, c)
	assert.NilError(t, err)
	return token
}

// token returns a token of the issuer.
func (i *issuer) token(changes claims) string {
	i.t.Helper()
	return sign(i.t, i.signer, jose.Header{Type: "at+jwt", KeyID: "k1"}, good(changes))
}

// A fixture is an MCP server with an issuer.
type fixture struct {
	t        testing.TB
	issuer   *issuer
	resource *auth.Resource
	handler  *streamable.Handler
	mux      *http.ServeMux
	log      *bytes.Buffer // safe to read when nothing runs

	mu    sync.Mutex
	calls []string // of the tools, with who called
}

type echoed struct {
	Text string `json:"text"`
}

// newFixture makes one. Without a Verify, it is that of JWTs.
func newFixture(t testing.TB, o auth.Options) *fixture {
	t.Helper()
	w := &fixture{t: t, issuer: newIssuer(t), mux: http.NewServeMux(), log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if o.Resource == "" {
		o.Resource = resource
	}
	if o.AuthorizationServers == nil {
		o.AuthorizationServers = []string{issuerURL}
	}
	if o.Scopes == nil {
		o.Scopes = []string{"mcp"}
	}
	if o.Verify == nil {
		o.Verify, err = auth.JWTOptions{Issuer: issuerURL, Audience: o.Resource,
			Client: w.issuer.client()}.New()
		assert.NilError(t, err)
	}
	o.Logger = log
	w.resource, err = o.New()
	assert.NilError(t, err)

	catalog := dispatch.NewCatalog()
	for _, name := range []string{"read", "write"} {
		dispatch.Add(catalog, dispatch.Spec{Name: name, Summary: "For tests.", Type: dispatch.Read},
			func(ctx context.Context, in echoed) (echoed, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.calls = append(w.calls, name+" "+dispatch.PrincipalFrom(ctx)+" "+
					auth.IdentityFrom(ctx).ClientID)
				return in, nil
			})
	}
	dispatch.Add(catalog,
		dispatch.Spec{Name: "drop", Summary: "For tests.", Type: dispatch.Destructive},
		func(ctx context.Context, in echoed) (echoed, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls = append(w.calls, "drop "+dispatch.CallFrom(ctx).Principal)
			return in, nil
		})
	w.handler = streamable.Options{Authorize: w.resource.Authorize, Logger: log,
		HTTPSSE: true}.New(
		server.Options{Logger: log}.New(server.Info{Name: "t", Version: "1"}, catalog))
	t.Cleanup(w.handler.Close)
	w.mux.Handle("/mcp", w.handler)
	for _, path := range w.resource.MetadataPaths() {
		w.mux.Handle(path, w.resource)
	}
	return w
}

// in runs a test in a bubble, where time passes at once.
func in(t *testing.T, o auth.Options, test func(t *testing.T, w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, o)
		test(t, w)
		w.handler.Close()
	})
}

// A header is lines of "Name: value".
type header string

func (w *fixture) do(method, address, body string, h header) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.doIn(w.t.Context(), method, address, body, h)
}

func (w *fixture) doIn(ctx context.Context, method, address, body string,
	h header) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	r.TLS = nil // something in front of the server has it
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for line := range strings.SplitSeq(string(h), "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Add(name, value)
		}
	}
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	return rec
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// call calls a tool in the modern era.
func (w *fixture) call(tool string, h header) *httptest.ResponseRecorder {
	w.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":{"text":"x"},` + modernMeta + `}}`
	return w.do("POST", resource, body,
		header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: "+tool+"\n")+h)
}

func bearer(token string) header { return header("Authorization: Bearer " + token) }

// wants checks the status of an answer, and its challenge.
func (w *fixture) wants(rec *httptest.ResponseRecorder, status int, challenge string) {
	w.t.Helper()
	assert.Equal(w.t, rec.Code, status, rec.Body.String())
	assert.Equal(w.t, rec.Header().Get("WWW-Authenticate"), challenge)
}

// refusal is the challenge for a token that is no good.
func refusal(description string) string {
	return `Bearer resource_metadata="` + metadata +
		`", scope="mcp", error="invalid_token", error_description="` + description + `"`
}

// called returns what was called since the last time.
func (w *fixture) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// logged makes sure that no log has a secret in it, nor its end.
func (w *fixture) keepsSecret(secrets ...string) {
	w.t.Helper()
	text := w.log.String()
	assert.Assert(w.t, text != "", "nothing was logged at all")
	for _, secret := range secrets {
		for _, part := range strings.Split(secret, ".") {
			if len(part) > 8 {
				assert.Assert(w.t, !strings.Contains(text, part), "%s is in %s", part, text)
			}
		}
	}
}

func object(t testing.TB, text []byte) (o map[string]any) {
	t.Helper()
	assert.NilError(t, json.Unmarshal(text, &o), fmt.Sprintf("%s", text))
	return o
}
