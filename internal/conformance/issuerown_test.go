//go:build linux

package conformance_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An agent is a program with our client that gets its tokens of an issuer.
type agent struct {
	*auth.Authorizer
	t   *testing.T
	url string
}

// agent is one whose user has the browser. Options may say more.
func (f *front) agent(b *browser, o auth.Options) *agent {
	b.t.Helper()
	if o.Grant == nil {
		o.Grant = auth.AuthorizationCode{Show: b.show, Patience: 20 * time.Second}
	}
	o.Name = "conformance"
	a, err := o.New(f.url)
	assert.NilError(b.t, err)
	return &agent{a, b.t, f.url}
}

// connects makes a connection.
func (a *agent) connects(revision mcp.Revision) *own {
	a.t.Helper()
	o, err := dialOwn(a.t, a.url, revision, streamable.Options{Wrap: a.Wrap})
	assert.NilError(a.t, err)
	return o
}

// has returns the credentials that are in use.
func (a *agent) has() auth.Credentials {
	a.t.Helper()
	c, ok := a.Credentials()
	assert.Assert(a.t, ok)
	return c
}

// The binary and our client, with an authorization server that neither of them has seen before: it binds tokens to keys, wants nonces, and holds clients to the scopes that they were
// registered for.
func TestOwnClientWithIssuer(t *testing.T) {
	b := newNodeBench(t)
	f := newFront(t)
	const document = "https://conformance.example/client.json"
	const other = "https://other.example/mcp"
	i := b.issuer(map[string]any{
		"resources": map[string]target{f.url: {"jwt", "mcp more"}, other: {"jwt", "mcp"}}, "scopes": []string{"mcp"}, "dpop": "nonce", "ttl": 600,
		"documents": map[string]any{document: map[string]any{
			"client_id": document, "client_name": "conformance", "redirect_uris": []string{"http://127.0.0.1/callback"}, "application_type": "native",
			"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none",
		}},
		"clients": []map[string]any{{
			"client_id": "machine", "client_secret": "the secret of a machine", "grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{},
		}},
	})
	b.protect(f, i)
	read := func(o *own) {
		t.Helper()
		o.contains(`Hello, world.`, "fs_read", `{"path":"hello.txt"}`)
	}
	atOnce := func(all ...*own) {
		t.Helper()
		var calls sync.WaitGroup
		for n := range 16 {
			calls.Go(func() {
				said, err := all[n%len(all)].text("fs_read", `{"path":"hello.txt"}`)
				assert.Check(t, err == nil && strings.Contains(said, "Hello, world."), "%v: %s", err, said)
			})
		}
		calls.Wait()
	}

	// Nobody is there to log in.
	status401, challenge := status(t, f.url, "")
	assert.Equal(t, status401, 401)
	assert.Assert(t, strings.Contains(challenge, `scope="mcp"`), challenge)
	_, err := dialOwn(t, f.url, mcp.Latest, streamable.Options{})
	refused, _ := errors.AsType[*streamable.StatusError](err)
	assert.Assert(t, refused != nil && refused.Status == http.StatusUnauthorized, "%v", err)

	store := auth.FileStore{Dir: b.path("tokens")}
	ada := newBrowser(t)
	first := f.agent(ada, auth.Options{Store: store})
	t.Run("login", func(t *testing.T) {
		count := i.since()
		o := first.connects(mcp.Latest)
		for _, err := range o.Tools(t.Context()) {
			assert.NilError(t, err)
		}
		read(o)
		got := first.has()
		assert.Equal(t, got.Issuer, i.url)
		assert.Equal(t, got.Type, "DPoP")
		assert.Equal(t, got.Granted, "mcp")
		assert.Assert(t, got.RefreshToken != "")
		for what, want := range map[string]int{"registered": 1, "login": 1, "consent": 1, "granted authorization_code": 1, "refused authorization_code: use_dpop_nonce": 1, "GET /jwks": 1} {
			assert.Equal(t, count(what), want, what)
		}
		// Another run of the program has it from the store, and so has every revision.
		for _, revision := range mcp.Supported() {
			read(f.agent(ada, auth.Options{Store: store}).connects(revision))
		}
		assert.Equal(t, count("granted authorization_code"), 1)
		assert.Equal(t, count("GET /jwks"), 1)
		// A thief has no key.
		for _, scheme := range []string{"Bearer ", "DPoP "} {
			got, challenge := status(t, f.url, scheme+first.has().AccessToken)
			assert.Equal(t, got, 401)
			assert.Assert(t, strings.Contains(challenge, `error="inval`), challenge)
		}
	})

	t.Run("refused by the user", func(t *testing.T) {
		i.tell(map[string]any{"denies": true})
		defer i.tell(map[string]any{"denies": false})
		err := f.agent(ada, auth.Options{}).Login(t.Context())
		failed, _ := errors.AsType[*auth.Error](err)
		assert.Assert(t, failed != nil, "%v", err)
		assert.Equal(t, failed.Step, auth.StepAuthorize)
		assert.Equal(t, failed.Code, "access_denied")
		assert.Equal(t, failed.Description, "Ada says no")
	})

	t.Run("document of the client", func(t *testing.T) {
		count := i.since()
		a := f.agent(ada, auth.Options{MetadataURL: document})
		read(a.connects(mcp.Latest))
		assert.Equal(t, a.has().Client, document)
		assert.Equal(t, count("registered"), 0)
	})

	t.Run("machine", func(t *testing.T) {
		machine := auth.Options{Grant: auth.ClientCredentials{}, Clients: []auth.Registration{{Issuer: i.url, ClientID: "machine", Secret: "the secret of a machine"}}}
		a := f.agent(ada, machine)
		read(a.connects(mcp.Latest))
		assert.Equal(t, a.has().RefreshToken, "")
	})

	token := func(resource string) string {
		t.Helper()
		ok, token := i.post("/token", "machine", "the secret of a machine", url.Values{"grant_type": {"client_credentials"}, "scope": {"mcp"}, "resource": {resource}})
		assert.Equal(t, ok, http.StatusOK, "%v", token)
		return fmt.Sprint(token["access_token"])
	}
	bearer := token(f.url)
	t.Run("another audience", func(t *testing.T) {
		got, challenge := status(t, f.url, "Bearer "+bearer)
		assert.Equal(t, got, 200, challenge)
		got, challenge = status(t, f.url, "Bearer "+token(other))
		assert.Equal(t, got, 401)
		assert.Assert(t, strings.Contains(challenge, "the token is for another resource"), challenge)
	})

	t.Run("refresh", func(t *testing.T) {
		i.tell(map[string]any{"ttl": 12}) // of which the client lets ten seconds be
		assert.NilError(t, first.Login(t.Context()))
		i.tell(map[string]any{"ttl": 600})
		second := f.agent(ada, auth.Options{Store: store})
		mine, theirs := first.connects(mcp.Latest), second.connects(mcp.Rev20251125)
		before := first.has()
		count := i.since()
		<-time.After(time.Until(before.Expires.Add(-9900 * time.Millisecond)))
		atOnce(mine, theirs)
		// One has refreshed for all, also for the other program: the issuer would take the second time for a theft.
		assert.Equal(t, count("granted refresh_token"), 1)
		after := first.has()
		assert.Assert(t, after.RefreshToken != before.RefreshToken && after.AccessToken != before.AccessToken)
		assert.Equal(t, second.has().RefreshToken, after.RefreshToken)
		assert.Equal(t, count("granted authorization_code"), 0)
	})

	t.Run("keys change", func(t *testing.T) {
		second := f.agent(ada, auth.Options{})
		mine, theirs := first.connects(mcp.Latest), second.connects(mcp.Latest)
		count := i.since()
		i.tell(map[string]any{"rotate": 2})
		assert.NilError(t, first.Login(t.Context())) // a token that is signed with the new key
		atOnce(mine, theirs)
		assert.Equal(t, count("GET /jwks"), 1)
		assert.Equal(t, count("granted refresh_token"), 0)

		// Both keys are withdrawn, of which the server hears by a third: who has a refresh token renews what they have signed, and who has one that was revoked logs in.
		i.revoke(second.has().Registration.ClientID, second.has().RefreshToken)
		i.tell(map[string]any{"rotate": 1})
		old, revoked := first.has().AccessToken, second.has().AccessToken
		got, challenge := status(t, f.url, "Bearer "+bearer)
		assert.Equal(t, got, 200, challenge)
		read(f.agent(ada, auth.Options{}).connects(mcp.Latest))
		assert.Equal(t, count("GET /jwks"), 2)
		logins := count("granted authorization_code")
		read(mine)
		assert.Equal(t, count("granted refresh_token"), 1)
		assert.Equal(t, count("granted authorization_code"), logins)
		assert.Assert(t, first.has().AccessToken != old)
		read(theirs)
		assert.Equal(t, count("refused refresh_token: invalid_grant"), 1)
		assert.Equal(t, count("granted authorization_code"), logins+1)
		assert.Assert(t, second.has().AccessToken != revoked)
		got, challenge = status(t, f.url, "Bearer "+bearer)
		assert.Equal(t, got, 401)
		assert.Assert(t, strings.Contains(challenge, "a key that is not known here"), challenge)
	})
	b.checkServer("record")
	b.checkClient("record")
}
