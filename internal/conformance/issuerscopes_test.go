//go:build linux

package conformance_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	serverauth "github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

const introspects = "the secret of a server"

// introspector is the client as which the server requests introspection.
var introspector = map[string]any{"client_id": "server", "client_secret": introspects,
	"grant_types": []string{}, "redirect_uris": []string{}, "response_types": []string{}}

// introspect serves the fixture at the front, with tokens that the server checks at the issuer for
// each request. The operation grow needs an additional scope.
func (f *front) introspect(t *testing.T, i *issuer) {
	t.Helper()
	verify, err := serverauth.IntrospectionOptions{Issuer: i.url, Audience: f.url,
		ClientID: "server", ClientSecret: introspects, Cache: -1, ClientIDAsSubject: true}.New()
	assert.NilError(t, err)
	resource, err := serverauth.Options{
		Resource: f.url, AuthorizationServers: []string{i.url}, Verify: verify,
		Scopes: []string{"mcp"}, Logger: slog.New(slog.DiscardHandler),
		MessageScopes: func(m streamable.Message) []string {
			if m.Method == mcp.MethodCallTool && m.Subject == "grow" {
				return []string{"grow"}
			}
			return nil
		},
	}.New()
	assert.NilError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	fixture := server.Options{Logger: quiet}.New(server.Info{Name: "fixture", Version: "1"},
		conformance.Fixture())
	handler := streamable.Options{Authorize: resource.Authorize, Logger: quiet}.New(fixture)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	for _, path := range resource.MetadataPaths() {
		mux.Handle(path, resource)
	}
	t.Cleanup(handler.Close)
	f.serve(mux)
}

// Opaque tokens, and an operation that needs more scopes than the others. The issuer limits clients
// to their registered scopes, or does not know the scopes of resources before they are requested.
func TestOwnClientStepsUpWithIssuer(t *testing.T) {
	for name, is := range map[string]struct {
		scopes     []string
		registered int // how often the client is registered until it has all scopes
	}{"scopes of clients": {[]string{"mcp", "grow"}, 2}, "scopes of resources": {[]string{}, 1}} {
		t.Run(name, func(t *testing.T) {
			b := newNodeBench(t)
			f := newFront(t)
			i := b.issuer(map[string]any{
				"resources": map[string]target{f.url: {"opaque", "mcp grow"}}, "scopes": is.scopes,
				"clients": []any{introspector, machine}})
			f.introspect(t, i)
			ada := newBrowser(t)
			a := f.agent(ada, auth.Options{})
			for n, revision := range []mcp.Revision{mcp.Latest, mcp.Rev20251125} {
				count := i.since()
				o := a.connects(revision)
				assert.Equal(t, o.n("add", `{"a":1,"b":2}`), 3)
				assert.Equal(t, count("granted authorization_code"), 1-n)
				if n == 0 {
					assert.Equal(t, a.has().Type, "Bearer")
					assert.Equal(t, a.has().Granted, "mcp")
				}
				assert.Equal(t, o.n("grow", `{}`), n+1)
				assert.Equal(t, o.n("add", `{"a":2,"b":2}`), 4)
				assert.Equal(t, count("granted authorization_code"), 2*(1-n))
				assert.Equal(t, a.has().Granted, "mcp grow")
			}
			assert.Equal(t, i.tell(map[string]any{})["registered"], is.registered)

			// A revoked token is refused at once, by the server too. With one token, the issuer
			// revokes all related ones, so the user must log in again. It does the same if a
			// refresh token is used a second time, because it must have been stolen.
			o := a.connects(mcp.Latest)
			count := i.since()
			for n, revoke := range []func(auth.Credentials){
				func(c auth.Credentials) { i.revoke(c.Registration.ClientID, c.AccessToken) },
				func(c auth.Credentials) { i.revoke(c.Registration.ClientID, c.RefreshToken) },
				func(c auth.Credentials) {
					for _, want := range []int{http.StatusOK, http.StatusBadRequest} {
						got, answer := i.post("/token", c.Registration.ClientID, "",
							url.Values{"grant_type": {"refresh_token"},
								"refresh_token": {c.RefreshToken}})
						assert.Equal(t, got, want, "%v", answer)
					}
				},
			} {
				before := a.has()
				revoke(before)
				got, challenge := status(t, f.url, "Bearer "+before.AccessToken)
				assert.Equal(t, got, http.StatusUnauthorized, challenge)
				assert.Equal(t, o.n("grow", `{}`), n+3)
				assert.Equal(t, count("granted authorization_code"), n+1)
				assert.Equal(t, a.has().Granted, "mcp grow", "what there was before")
			}

			// A logout revokes everything.
			before := a.has()
			assert.NilError(t, a.Logout(t.Context()))
			got, challenge := status(t, f.url, "Bearer "+before.AccessToken)
			assert.Equal(t, got, http.StatusUnauthorized, challenge)
			assert.Equal(t, o.n("grow", `{}`), 6)

			// The issuer has lost all its data, including the registration of the client.
			count = i.since()
			i.tell(map[string]any{"forgets": true})
			assert.Equal(t, o.n("grow", `{}`), 7)
			assert.Equal(t, count("refused refresh_token: invalid_client"), 1)
			assert.Equal(t, count("registered"), 1)
			assert.Equal(t, count("granted authorization_code"), 1)

			// A machine has an identity, too.
			machine := f.agent(ada, auth.Options{
				Grant: auth.ClientCredentials{},
				Clients: []auth.Registration{
					{Issuer: i.url, ClientID: "machine", Secret: machineSecret}},
			})
			assert.Equal(t, machine.connects(mcp.Latest).n("grow", `{}`), 8)
		})
	}
}
