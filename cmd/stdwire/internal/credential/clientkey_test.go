package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/jose"
)

// A clientKey is a private key, in a file of its own.
type clientKey struct {
	public crypto.PublicKey
	path   string
}

// keysOfClients makes a key of each kind and encoding.
func keysOfClients(t *testing.T) map[string]clientKey {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	assert.NilError(t, err)
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	assert.NilError(t, err)
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	assert.NilError(t, err)
	sec1, err := x509.MarshalECPrivateKey(ec)
	assert.NilError(t, err)
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		assert.NilError(t, err)
		return der
	}
	all := map[string]clientKey{}
	for name, k := range map[string]struct {
		public crypto.PublicKey
		block  pem.Block
	}{
		"EC":        {ec.Public(), pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(ec)}},
		"SEC 1":     {ec.Public(), pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}},
		"Ed25519":   {ed.Public(), pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(ed)}},
		"RSA":       {big.Public(), pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(big)}},
		"PKCS 1":    {big.Public(), pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(big)}},
		"P-384":     {nil, pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(wide)}},
		"damaged":   {nil, pem.Block{Type: "PRIVATE KEY", Bytes: []byte("key")}},
		"encrypted": {nil, pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("key")}},
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		text := append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte("p")}),
			pem.EncodeToMemory(&k.block)...)
		assert.NilError(t, os.WriteFile(path, text, 0o600))
		all[name] = clientKey{k.public, path}
	}
	return all
}

// The gateway authenticates with a key at a token endpoint: what it signs names the client twice,
// and the server that it is for; and no secret is sent.
func TestClientKey(t *testing.T) {
	keys := keysOfClients(t)
	var form map[string][]string
	var authorization string
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Check(t, r.ParseForm())
		form, authorization = r.PostForm, r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"of-ada","token_type":"Bearer","expires_in":60}`)
	}))
	defer as.Close()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Check(t, r.Header.Get("Authorization") == "Bearer of-ada")
	}))
	defer up.Close()
	wrapped := func(c config.Credentials) (func(http.RoundTripper) http.RoundTripper, error) {
		c.Type, c.ClientID, c.TokenEndpoint = config.CredentialExchange, "gateway", as.URL
		return Wrap(&config.Endpoint{URL: up.URL, Credentials: &c},
			func() *User { return &User{subject: "token-of-ada"} }, nil, nil)
	}
	for _, tc := range []struct{ kind, audience string }{{"EC", ""}, {"SEC 1", ""}, {"Ed25519", ""},
		{"RSA", ""}, {"PKCS 1", "https://as.example"}} {
		wrap, err := wrapped(config.Credentials{ClientKey: keys[tc.kind].path, ClientKeyID: "k1",
			AssertionAudience: tc.audience})
		assert.NilError(t, err, tc.kind)
		response, err := (&http.Client{Transport: wrap(http.DefaultTransport)}).Get(up.URL)
		assert.NilError(t, err, tc.kind)
		assert.NilError(t, response.Body.Close())
		assert.Equal(t, form["subject_token"][0], "token-of-ada")
		assert.Equal(t, form["client_assertion_type"][0],
			"urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		assert.Assert(t, authorization == "" && form["client_secret"] == nil)
		token, err := jose.Parse(form["client_assertion"][0])
		assert.NilError(t, err)
		assert.Equal(t, token.Header.KeyID, "k1")
		public, err := jose.NewKey(keys[tc.kind].public)
		assert.NilError(t, err)
		payload, err := token.Verify(public, jose.ES256, jose.EdDSA, jose.RS256)
		assert.NilError(t, err, tc.kind)
		claims, err := jose.ParseClaims(payload)
		assert.NilError(t, err)
		assert.Assert(t, claims.Issuer == "gateway" && claims.Subject == "gateway" &&
			claims.ID != "" && !claims.Expires.IsZero())
		want := tc.audience
		if want == "" {
			want = as.URL
		}
		assert.DeepEqual(t, []string(claims.Audience), []string{want})
	}
	for kind, want := range map[string]string{"P-384": "key.pem: key: ", "damaged": "is damaged",
		"encrypted": "no private key in PEM"} {
		_, err := wrapped(config.Credentials{ClientKey: keys[kind].path})
		assert.ErrorContains(t, err, want, kind)
		assert.ErrorContains(t, err, "credentials.clientKey: ")
	}
	_, err := wrapped(config.Credentials{ClientKey: filepath.Join(t.TempDir(), "none.pem")})
	assert.ErrorIs(t, err, os.ErrNotExist)
	if runtime.GOOS != "windows" {
		assert.NilError(t, os.Chmod(keys["EC"].path, 0o644))
		_, err = wrapped(config.Credentials{ClientKey: keys["EC"].path})
		assert.ErrorContains(t, err, "key.pem")
	}
}
