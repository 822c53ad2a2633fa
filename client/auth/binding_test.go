package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// secretOptions returns all configurations with something that only one authorization server may
// receive, without the name of that server, by case.
func (w *testServers) secretOptions() map[string]auth.Options {
	code := auth.AuthorizationCode{FetchRedirect: w.follow, RedirectURL: redirect}
	vouched := auth.JWTBearer{Assertion: func(context.Context, string) (string, error) {
		return "s3cret.jwt", nil
	}}
	identity := auth.IdentityAssertion{
		Token:         func(context.Context) (string, error) { return "s3cret-id", nil },
		TokenEndpoint: "https://idp.example/token",
		Client:        auth.Registration{ClientID: "at-idp"},
	}
	all := map[string]auth.Options{}
	for name, tc := range map[string]struct {
		grant  auth.Grant
		client auth.Registration
	}{
		"a secret and a user": {code, auth.Registration{ClientID: "mine", Secret: "s3cret"}},
		"a secret by itself": {auth.ClientCredentials{},
			auth.Registration{ClientID: "mine", Secret: "s3cret"}},
		"a secret, no grant": {nil, auth.Registration{ClientID: "mine", Secret: "s3cret"}},
		"a key": {auth.ClientCredentials{},
			auth.Registration{ClientID: "mine", Key: newKey(w.t)}},
		"a platform's assertion":   {vouched, auth.Registration{ClientID: "mine"}},
		"an identity's assertion":  {identity, auth.Registration{ClientID: "mine"}},
		"credentials of nobody":    {auth.ClientCredentials{}, auth.Registration{ClientID: "mine"}},
		"a key, and a user agrees": {code, auth.Registration{ClientID: "mine", Key: newKey(w.t)}},
	} {
		o := w.options()
		o.Grant, o.Clients = tc.grant, []auth.Registration{tc.client}
		all[name] = o
	}
	return all
}

// redirectToHostileServer makes the MCP server name another authorization server, which accepts
// everything.
func (w *testServers) redirectToHostileServer() {
	const evil = "https://evil.example"
	asm := merged(w.asm, map[string]any{
		"issuer": evil, "authorization_endpoint": evil + "/authorize", "token_endpoint": evil +
			"/token", "registration_endpoint": evil + "/register",
		"token_endpoint_auth_methods_supported": []string{"client_secret_post",
			"client_secret_basic", "private_key_jwt", "none"},
	})
	w.handle(evil, "/.well-known/oauth-authorization-server", document(&asm))
	w.handle(evil, "/authorize", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		rw.Header().Set("Location", q.Get("redirect_uri")+"?code=c&iss="+evil+"&state="+
			q.Get("state"))
		rw.WriteHeader(302)
	})
	w.handle(evil, "/token", func(rw http.ResponseWriter, _ *http.Request) {
		response(rw, 200, w.issue("Bearer"))
	})
	w.handle("https://idp.example", "/token", func(rw http.ResponseWriter, _ *http.Request) {
		response(rw, 200,
			`{"access_token":"s3cret-jag","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}`)
	})
	w.prm["authorization_servers"] = []string{evil}
}

// secretsSentTo returns the secrets that an authorization server has received.
func (w *testServers) secretsSentTo(host string) (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s.URL.Host != host {
			continue
		}
		if s.Header.Get("Authorization") != "" {
			all = append(all, s.String()+" Authorization")
		}
		for _, name := range []string{"client_secret", "client_assertion", "assertion",
			"refresh_token", "subject_token"} {
			if s.form.Has(name) {
				all = append(all, s.String()+" "+name)
			}
		}
		if strings.Contains(s.body+s.URL.String(), "s3cret") {
			all = append(all, s.String()+" s3cret")
		}
	}
	return all
}

// An authorization server that only the MCP server has named receives no secret, no assertion and
// no refresh token, whether or not the client's own server is configured.
func TestHostileAuthorizationServerSeesNoSecret(t *testing.T) {
	for name := range newWorld(t).secretOptions() {
		for _, bound := range []string{"", issuer} {
			t.Run(name+", "+bound, func(t *testing.T) {
				w := newWorld(t)
				o := w.secretOptions()[name]
				o.Clients[0].Issuer = bound
				w.redirectToHostileServer()
				if a, err := o.New(endpoint); err == nil {
					_, _ = (&caller{a, w, a.Wrap(w)}).call()
					_ = a.Logout(t.Context())
				}
				assert.Equal(t, strings.Join(w.secretsSentTo("evil.example"), "\n"), "")
				assert.Equal(t, len(w.requestsTo("/token")), 0,
					"neither has the identity provider been asked")
			})
		}
	}
}

// A refresh token is sent only to the authorization server that issued it, whatever the MCP server
// names later.
func TestHostileAuthorizationServerSeesNoRefreshToken(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	o.Store = &memoryStore{}
	w.client(o).ok()
	w.redirectToHostileServer()
	w.mu.Lock()
	w.current = "revoked"
	w.mu.Unlock()
	status, err := w.client(o).call() // the user consents at the other server
	assert.Assert(t, err != nil || status != 0)
	assert.Assert(t, len(w.requestsAt("evil.example")) > 0, "the new one has been asked")
	assert.Equal(t, strings.Join(w.secretsSentTo("evil.example"), "\n"), "")
}

// A secret without the issuer it is for is refused.
func TestSecretsNeedAnIssuer(t *testing.T) {
	w := newWorld(t)
	for name, o := range w.secretOptions() {
		_, err := o.New(endpoint)
		assert.ErrorContains(t, err, `auth: client "mine" in Options.Clients has no Issuer`, name)
		assert.Assert(t, !strings.Contains(err.Error(), "s3cret"), name)
		o.Clients[0].Issuer = issuer
		_, err = o.New(endpoint)
		assert.NilError(t, err, name)
	}
	o := w.options()
	o.Clients = []auth.Registration{{ClientID: "public"}}
	_, err := o.New(endpoint)
	assert.NilError(t, err, "a client without a secret has nothing to lose")
}
