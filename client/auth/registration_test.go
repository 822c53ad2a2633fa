package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/jose"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	return key
}

// A configured registration comes first, then the metadata document, then a dynamic registration.
func TestOrderOfRegistrations(t *testing.T) {
	const doc = "https://app.example/client.json"
	for _, tc := range []struct {
		clients   []auth.Registration
		doc       string
		supported bool
		want      string
	}{
		{[]auth.Registration{{Issuer: issuer, ClientID: "mine"}}, doc, true, "mine"},
		{[]auth.Registration{{ClientID: "mine"}}, doc, true, "mine"},
		{[]auth.Registration{{Issuer: "https://other.example", ClientID: "other"},
			{Issuer: issuer, ClientID: "mine"}}, doc, true, "mine"},
		{nil, doc, true, doc},
		{nil, doc, false, "registered"},
		{nil, "", true, "registered"},
	} {
		w := newWorld(t)
		w.asm["client_id_metadata_document_supported"] = tc.supported
		o := w.options()
		o.Clients, o.MetadataURL = tc.clients, tc.doc
		store := &memoryStore{}
		o.Store = store
		w.client(o).ok()
		assert.Equal(t, w.requestsTo("/authorize")[0].URL.Query().Get("client_id"), tc.want)
		assert.Equal(t, w.requestsTo("/token")[0].form.Get("client_id"), tc.want)
		assert.Equal(t, w.count("/register") == 1, tc.want == "registered")
		if tc.want != "registered" {
			assert.Equal(t, store.one(t).Client, tc.want)
		}
		before := len(w.requestsAt(""))
		w.client(o).ok()
		assert.Equal(t, len(w.requestsAt("")), before+1, "another run has the token")
	}
}

// A registration is used with one authorization server only: its Issuer, or else the one it was
// first used with.
func TestRegistrationsAreBound(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Clients = []auth.Registration{
		{Issuer: "https://other.example", ClientID: "mine", Secret: "s3cret"}}
	w.client(o).fails(auth.StepRegistration,
		"the client is registered with https://other.example, but the MCP server names another authorization server")
	assert.Equal(t, w.count("/authorize")+w.count("/token")+w.count("/register"), 0)

	w = newWorld(t)
	o = w.options()
	o.Store = &memoryStore{}
	o.Clients = []auth.Registration{{ClientID: "mine"}}
	w.client(o).ok()
	w.mu.Lock()
	w.current = "revoked"
	w.mu.Unlock()
	asm := merged(w.asm, map[string]any{"issuer": "https://evil.example"})
	w.handle("https://evil.example", "/.well-known/oauth-authorization-server", document(&asm))
	w.prm["authorization_servers"] = []string{"https://evil.example"}
	before := w.count("/authorize") + w.count("/token")
	w.client(o).fails(auth.StepRegistration,
		`client "mine" was used with https://as.example/t, but the MCP server now names another authorization server`)
	assert.Equal(t, w.count("/authorize")+w.count("/token"), before)
}

// A configured secret is not stored with the credentials, but is used to refresh them. The secret
// of a dynamic registration is stored.
func TestConfiguredSecretsAreNotKept(t *testing.T) {
	for _, configured := range []bool{true, false} {
		runSynctest(t, func(t *testing.T, w *testServers) {
			w.asm["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
			w.register = func(map[string]any) (int, any) {
				return 201, `{"client_id":"mine","client_secret":"s3cret"}`
			}
			store := &memoryStore{}
			o := w.options()
			o.Store = store
			if configured {
				o.Clients = []auth.Registration{mine}
			}
			w.client(o).ok()
			for range 2 {
				assert.Equal(t, store.one(t).Registration.Secret == "", configured)
				sleep(3600)
				w.client(o).ok()
			}
			for _, r := range w.requestsTo("/token") {
				id, secret, _ := r.BasicAuth()
				assert.Equal(t, id+":"+secret, "mine:s3cret")
			}
			assert.Equal(t, w.count("/token"), 3)
		})
	}
}

// The client authentication method depends on the registration and the authorization server.
func TestClientAuthentication(t *testing.T) {
	for name, tc := range map[string]struct {
		r       auth.Registration
		offered []string // nil: not in the metadata
		want    string
	}{
		"public":               {auth.Registration{}, []string{"none"}, "none"},
		"public, nothing said": {auth.Registration{}, nil, "none"},
		"public, not wanted": {auth.Registration{},
			[]string{"client_secret_post", "private_key_jwt\x1b"},
			`the client can authenticate by none, but the authorization server accepts only client_secret_post, private_key_jwt`},
		"secret, nothing said": {auth.Registration{Secret: "s3cret:/ %"}, nil, "basic"},
		"secret, both": {auth.Registration{Secret: "s3cret:/ %"},
			[]string{"client_secret_post", "client_secret_basic"}, "basic"},
		"secret, post": {auth.Registration{Secret: "s3cret:/ %"},
			[]string{"client_secret_post", "none"}, "post"},
		"secret, none": {auth.Registration{Secret: "s3cret:/ %"}, []string{"none"},
			"none"},
		"secret, post configured": {
			auth.Registration{Secret: "s3cret:/ %", AuthMethod: "client_secret_post"},
			[]string{"client_secret_basic"}, "post"},
		"secret, another": {
			auth.Registration{Secret: "s3cret", AuthMethod: "tls_client_auth"}, nil,
			`unsupported client authentication method "tls_client_auth"`},
		"key": {auth.Registration{Key: newKey(t), KeyID: "k1"},
			[]string{"private_key_jwt", "client_secret_basic"}, "key"},
		"key and secret": {auth.Registration{Key: newKey(t), Secret: "s3cret"},
			[]string{"private_key_jwt", "client_secret_basic"}, "key"},
		"key, not wanted": {auth.Registration{Key: newKey(t)},
			[]string{"client_secret_basic"}, "the client can authenticate by private_key_jwt"},
		"key configured, but not": {auth.Registration{AuthMethod: "private_key_jwt"}, nil,
			"private_key_jwt needs a Key"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asm["token_endpoint_auth_methods_supported"] = tc.offered
			o := w.options()
			tc.r.ClientID, tc.r.Issuer = "my client", issuer
			o.Clients = []auth.Registration{tc.r}
			c := w.client(o)
			if strings.Contains(tc.want, " ") {
				c.fails(auth.StepToken, tc.want)
				assert.Equal(t, w.count("/token"), 0)
				return
			}
			c.ok()
			r := w.requestsTo("/token")[0]
			id, secret, basic := r.BasicAuth()
			switch tc.want {
			case "none":
				assert.Equal(t, r.form.Get("client_id"), "my client")
				assert.Assert(t, !basic && !r.form.Has("client_secret"))
			case "basic": // both are form-encoded (RFC 6749, section 2.3.1)
				assert.Equal(t, id+"|"+secret, "my+client|s3cret%3A%2F+%25")
				assert.Assert(t, !r.form.Has("client_secret"))
			case "post":
				assert.Equal(t, r.form.Get("client_id")+"|"+r.form.Get("client_secret"),
					"my client|s3cret:/ %")
				assert.Assert(t, !basic)
			case "key":
				assert.Assert(t, !basic && !r.form.Has("client_secret") && !r.form.Has("client_id"))
				claims := assertion(t, tc.r, r.form)
				assert.Equal(t, claims.Issuer+"|"+claims.Subject+"|"+
					strings.Join(claims.Audience, ","), "my client|my client|"+issuer)
				assert.Assert(t, claims.ID != "" && time.Until(claims.Expires.Time) > 0 &&
					time.Until(claims.Expires.Time) <= time.Minute)
			}
		})
	}
}

func assertion(t *testing.T, r auth.Registration, form url.Values) *jose.Claims {
	t.Helper()
	assert.Equal(t, form.Get("client_assertion_type"),
		"urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	token, err := jose.Parse(form.Get("client_assertion"))
	assert.NilError(t, err)
	assert.Equal(t, token.Header.KeyID, r.KeyID)
	key, err := jose.NewKey(r.Key.Public())
	assert.NilError(t, err)
	payload, err := token.Verify(key, jose.ES256)
	assert.NilError(t, err)
	claims, err := jose.ParseClaims(payload)
	assert.NilError(t, err)
	return claims
}

// Valid and invalid responses to a dynamic registration.
func TestRegistrationResponses(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		answer string
		want   string
	}{
		"a secret that is not wanted": {201, `{"client_id":"x","client_secret":"s3cret"}`, ""},
		"another method": {200,
			`{"client_id":"x","client_secret":"s3cret","token_endpoint_auth_method":"client_secret_post"}`,
			"post"},
		"a method without a secret": {201,
			`{"client_id":"x","token_endpoint_auth_method":"client_secret_basic"}`,
			"the server requires a client secret, but the response has none"},
		"a method that is not known": {201,
			`{"client_id":"x","token_endpoint_auth_method":"tls\u001b[1m"}`,
			`authentication method "tls"`},
		"no id":        {201, `{"client_secret":"s3cret"}`, "not the expected JSON"},
		"a line break": {201, `{"client_id":"x\ny"}`, "not the expected JSON"},
		"a type":       {201, `{"client_id":7}`, "not the expected JSON"},
		"a redirect refused": {400,
			`{"error":"invalid_redirect_uri","error_description":"only web"}`,
			`400 Bad Request: invalid_redirect_uri: "only web"`},
		"forbidden": {403, ``, "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.register = func(map[string]any) (int, any) { return tc.status, tc.answer }
			c := w.client(w.options())
			if len(tc.want) > 4 {
				c.fails(auth.StepRegistration, tc.want)
				assert.Equal(t, w.count("/authorize"), 0)
				return
			}
			c.ok()
			assert.Equal(t, w.requestsTo("/token")[0].form.Get("client_secret"),
				map[string]string{"post": "s3cret"}[tc.want])
		})
	}
}

// A dynamic registration is replaced when its secret expires.
func TestRegistrationExpires(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.asm["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		w.register = func(body map[string]any) (int, any) {
			assert.Equal(t, body["token_endpoint_auth_method"], "client_secret_basic")
			return 201, map[string]any{"client_id": "x", "client_secret": "s3cret",
				"client_secret_expires_at": time.Now().Add(time.Hour).Unix()}
		}
		c := w.client(w.options())
		assert.NilError(t, c.Login(t.Context()))
		assert.NilError(t, c.Login(t.Context()))
		assert.Equal(t, w.count("/register"), 1)
		sleep(3601)
		assert.NilError(t, c.Login(t.Context()))
		assert.Equal(t, w.count("/register"), 2)
	})
}

// A client with an https: redirect URI is registered as "web".
func TestApplicationTypeMustBeSent(t *testing.T) {
	for to, want := range map[string]string{
		"http://localhost:3000/callback": "native", "http://[::1]/callback": "native",
		"https://app.example/callback": "web", "https://localhost/callback": "native",
	} {
		w := newWorld(t)
		o := w.options()
		o.Grant = auth.AuthorizationCode{RedirectURL: to, FetchRedirect: w.follow}
		w.client(o).ok()
		var body struct {
			Application string `json:"application_type"`
		}
		assert.NilError(t, json.Unmarshal([]byte(w.requestsTo("/register")[0].body), &body))
		assert.Equal(t, body.Application, want, to)
	}
}
