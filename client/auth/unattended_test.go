package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// mine is a configured registration.
var mine = auth.Registration{Issuer: issuer, ClientID: "mine", Secret: "s3cret"}

func (w *testServers) unattendedOptions(g auth.Grant) auth.Options {
	w.asm["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	o := w.options()
	o.Grant, o.Clients = g, []auth.Registration{mine}
	return o
}

// ClientCredentials obtains a token, and another when it has expired, without a user.
func TestClientCredentials(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.token = func(url.Values, *http.Request) (int, any) {
			made := w.issue("Bearer")
			delete(made, "refresh_token")
			return 200, made
		}
		c := w.client(w.unattendedOptions(auth.ClientCredentials{}))
		c.ok()
		assert.DeepEqual(t, w.requestsTo("/token")[0].form,
			url.Values{"grant_type": {"client_credentials"}, "resource": {endpoint},
				"scope": {"read"}})
		id, secret, _ := w.requestsTo("/token")[0].BasicAuth()
		assert.Equal(t, id+":"+secret, "mine:s3cret")
		sleep(3600)
		before := w.count("/mcp")
		c.ok()
		assert.Equal(t, w.count("/mcp"), before+1)
		assert.Equal(t, w.count("/token"), 2)
		assert.Equal(t, w.count("/register")+w.count("/authorize"), 0)
	})
	w := newWorld(t)
	o := w.unattendedOptions(auth.ClientCredentials{})
	o.Clients = nil
	w.client(o).fails(auth.StepRegistration,
		"Options.Clients has no registration for this authorization server")
	assert.Equal(t, w.count("/register"), 0)
}

// JWTBearer sends the platform's assertion once.
func TestJWTBearer(t *testing.T) {
	w := newWorld(t)
	asked := ""
	grant := auth.JWTBearer{Assertion: func(_ context.Context, issuer string) (string, error) {
		asked = issuer
		return "s3cret.jwt", nil
	}}
	w.client(w.unattendedOptions(grant)).ok()
	assert.Equal(t, asked, issuer)
	assert.DeepEqual(t, w.requestsTo("/token")[0].form, url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {"s3cret.jwt"},
		"resource": {endpoint}, "scope": {"read"},
	})

	w = newWorld(t)
	w.token = func(url.Values, *http.Request) (int, any) { return 400, `{"error":"invalid_grant"}` }
	w.client(w.unattendedOptions(grant)).fails(auth.StepToken, "invalid_grant")
	assert.Equal(t, w.count("/token"), 1, "and nothing else is tried")

	w = newWorld(t)
	lost := errors.New("no identity here")
	e := w.client(w.unattendedOptions(
		auth.JWTBearer{Assertion: func(context.Context, string) (string, error) {
			return "", lost
		}})).fails(auth.StepAssertion, "no identity here")
	assert.ErrorIs(t, e, lost)
	assert.Equal(t, w.count("/token"), 0)
}

// The identity provider exchanges the user's token for an assertion, and the authorization server
// exchanges that for an access token.
func TestIdentityAssertion(t *testing.T) {
	const jag = "urn:ietf:params:oauth:token-type:id-jag"
	for name, tc := range map[string]struct {
		answer string
		want   string
	}{
		"good": {`{"access_token":"s3cret-jag","issued_token_type":"` + jag +
			`","token_type":"N_A","expires_in":300}`, ""},
		"another": {
			`{"access_token":"s3cret-jag","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}`,
			", want \"urn:ietf:params:oauth:token-type:id-jag\""},
		"no token":    {`{"issued_token_type":"` + jag + `"}`, "no valid access_token"},
		"not granted": {"", `400 Bad Request: access_denied: "policy"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.handle("https://idp.example", "/token",
				func(rw http.ResponseWriter, _ *http.Request) {
					if tc.answer == "" {
						response(rw, 400, `{"error":"access_denied","error_description":"policy"}`)
						return
					}
					response(rw, 200, tc.answer)
				})
			c := w.client(w.unattendedOptions(auth.IdentityAssertion{
				Token:         func(context.Context) (string, error) { return "s3cret-id", nil },
				TokenEndpoint: "https://idp.example/token",
				Client:        auth.Registration{Issuer: "https://idp.example", ClientID: "at-idp"},
			}))
			if tc.want != "" {
				e := c.fails(auth.StepExchange, tc.want)
				assert.Equal(t, e.URL, "https://idp.example/token")
				assert.Equal(t, len(w.requestsTo("/token")), 1)
				return
			}
			c.ok()
			both := w.requestsTo("/token")
			assert.DeepEqual(t, both[0].form, url.Values{
				"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
				"requested_token_type": {jag}, "audience": {issuer}, "resource": {endpoint},
				"scope":              {"read"},
				"subject_token":      {"s3cret-id"},
				"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
				"client_id":          {"at-idp"},
			})
			assert.Equal(t, both[0].Header.Get("Authorization"), "",
				"what is for the one is not shown to the other")
			assert.DeepEqual(t, both[1].form, url.Values{
				"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
				"assertion":  {"s3cret-jag"}, "resource": {endpoint}, "scope": {"read"},
			})
			id, secret, _ := both[1].BasicAuth()
			assert.Equal(t, id+":"+secret, "mine:s3cret")
		})
	}
	for _, bad := range []string{"http://idp.example/token", "idp.example", ""} {
		_, err := auth.Options{Grant: auth.IdentityAssertion{
			Token: func(context.Context) (string, error) { return "", nil }, TokenEndpoint: bad,
			Client: auth.Registration{ClientID: "x"},
		}}.New(endpoint)
		assert.ErrorContains(t, err, "IdentityAssertion.TokenEndpoint")
	}
}

// ClientCredentials does not use the credentials that the same client obtained with
// AuthorizationCode. Both are saved at the same time of the fake clock.
func TestStoreSeparatesGrants(t *testing.T) { runSynctest(t, testStoreSeparatesGrants) }

func testStoreSeparatesGrants(t *testing.T, w *testServers) {
	o := w.options()
	o.Store, o.Clients = &memoryStore{},
		[]auth.Registration{{Issuer: issuer, ClientID: "me", Secret: "s3cret"}}
	w.asm["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	w.client(o).ok()
	o.Grant = auth.ClientCredentials{}
	w.client(o).ok()
	assert.Equal(t, w.requestsTo("/token")[1].form.Get("grant_type"), "client_credentials")
	before := w.count("/token")
	o.Grant = nil  // any grant may be used
	for range 10 { // whatever order the Store has them in
		w.client(o).ok()
	}
	assert.Equal(t, w.count("/token"), before)
}

// A request does not share the end of an acquisition that others have given up: it waits for that
// end, and obtains a token itself.
func TestRequestAfterCancellation(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		blocked, calls := make(chan struct{}), 0
		c := w.client(w.unattendedOptions(
			auth.JWTBearer{Assertion: func(ctx context.Context, _ string) (string, error) {
				if calls++; calls == 1 {
					<-blocked
					return "", context.Cause(ctx)
				}
				return "jwt", nil
			}}))
		ctx, cancel := contextWithCancel()
		first := make(chan error, 1)
		go func() {
			_, err := c.callWith(ctx)
			first <- err
		}()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-first, context.Canceled)
		second := make(chan struct{})
		go func() {
			defer close(second)
			c.ok()
		}()
		synctest.Wait()
		close(blocked)
		<-second
		assert.Equal(t, calls, 2)
	})
}

// A callback that panics fails its request only.
func TestPanics(t *testing.T) {
	w := newWorld(t)
	panics := true
	c := w.client(w.unattendedOptions(
		auth.JWTBearer{Assertion: func(context.Context, string) (string, error) {
			if panics {
				panic("oops")
			}
			return "jwt", nil
		}}))
	c.fails(auth.StepAssertion, "a callback of the application panicked, see the log")
	w.mu.Lock()
	assert.Assert(t, strings.Contains(w.log.String(), "oops"))
	w.mu.Unlock()
	panics = false
	c.ok()
}
