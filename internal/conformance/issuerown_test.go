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

// An agent is a program with the client of this module that gets its tokens from an issuer.
type agent struct {
	*auth.Authorizer
	t   *testing.T
	url string
}

// agent returns an agent whose user has the browser, unless the options say otherwise.
func (f *front) agent(b *browser, o auth.Options) *agent {
	b.t.Helper()
	if o.Grant == nil {
		o.Grant = auth.AuthorizationCode{OpenBrowser: b.show, Timeout: 2 * time.Minute}
	}
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

// has returns the current credentials.
func (a *agent) has() auth.Credentials {
	a.t.Helper()
	c, ok := a.Credentials()
	assert.Assert(a.t, ok)
	return c
}

// reads makes a call.
func (o *own) reads() {
	o.t.Helper()
	o.contains(`Hello, world.`, "fs_read", `{"path":"hello.txt"}`)
}

// readAtOnce makes many concurrent calls.
func readAtOnce(t *testing.T, all ...*own) {
	t.Helper()
	var calls sync.WaitGroup
	for n := range 16 {
		calls.Go(func() {
			said, err := all[n%len(all)].text("fs_read", `{"path":"hello.txt"}`)
			assert.Check(t, err == nil &&
				strings.Contains(said, "Hello, world."), "%v: %s", err, said)
		})
	}
	calls.Wait()
}

// The URLs of another server, and of the metadata document of a client.
const (
	elsewhere = "https://other.example/mcp"
	document  = "https://conformance.example/client.json"
)

// An issued is the binary with an issuer, and a user with programs.
type issued struct {
	t     *testing.T
	f     *front
	i     *issuer
	ada   *browser
	store auth.FileStore
	first *agent // with that store
}

// The binary and the client of this module, with an authorization server that neither has used
// before. It binds tokens to keys, requires nonces, and limits clients to their registered scopes.
func TestOwnClientWithIssuer(t *testing.T) {
	b := newNodeBench(t)
	f := newFront(t)
	i := b.issuer(map[string]any{
		"resources": map[string]target{f.url: {"jwt", "mcp"}, elsewhere: {"jwt", "mcp"}},
		"scopes":    []string{"mcp"}, "dpop": "nonce", "clients": []any{machine},
		"documents": map[string]any{document: map[string]any{
			"client_id": document, "client_name": "conformance",
			"redirect_uris": []string{"http://127.0.0.1/callback"}, "application_type": "native",
			"grant_types":    []string{"authorization_code", "refresh_token"},
			"response_types": []string{"code"}, "token_endpoint_auth_method": "none",
		}},
	})
	b.protect(f, i)
	w := &issued{t: t, f: f, i: i, ada: newBrowser(t), store: auth.FileStore{Dir: b.path("tokens")}}
	w.first = f.agent(w.ada, auth.Options{Store: w.store})
	w.nobody()
	w.login()
	w.refusals()
	w.document()
	w.machines()
	w.refreshes()
	w.keysChange()
	b.checkServer("record")
	b.checkClient("record")
}

// nobody connects without credentials, and expects a challenge.
func (w *issued) nobody() {
	t := w.t
	_, err := dialOwn(t, w.f.url, mcp.Latest, streamable.Options{})
	refused, _ := errors.AsType[*streamable.StatusError](err)
	assert.Assert(t, refused != nil && refused.Status == http.StatusUnauthorized, "%v", err)
	challenge := refused.Header.Get("WWW-Authenticate")
	assert.Assert(t, strings.Contains(challenge, `scope="mcp"`) &&
		!strings.Contains(challenge, "error="), challenge)
}

// login happens once for all runs of the program, in all revisions.
func (w *issued) login() {
	t := w.t
	count := w.i.since()
	o := w.first.connects(mcp.Latest)
	for _, err := range o.Tools(t.Context()) {
		assert.NilError(t, err)
	}
	o.reads()
	got := w.first.has()
	assert.Equal(t, got.Issuer, w.i.url)
	assert.Equal(t, got.Type, "DPoP")
	assert.Equal(t, got.Granted, "mcp")
	assert.Assert(t, got.RefreshToken != "")
	for _, revision := range mcp.Supported() {
		w.f.agent(w.ada, auth.Options{Store: w.store}).connects(revision).reads()
	}
	for what, want := range map[string]int{"registered": 1, "login": 1, "consent": 1,
		"granted authorization_code": 1, "refused authorization_code: use_dpop_nonce": 1,
		"GET /jwks": 1} {
		assert.Equal(t, count(what), want, what)
	}
	for _, scheme := range []string{"Bearer ", "DPoP "} { // a thief does not have the key
		status, challenge := status(t, w.f.url, scheme+got.AccessToken)
		assert.Equal(t, status, http.StatusUnauthorized)
		assert.Assert(t, strings.Contains(challenge, `error="inval`), challenge)
	}
}

// refusals have one of two reasons: the user refuses, or the issuer does not know the server.
func (w *issued) refusals() {
	t := w.t
	strange := newFront(t)
	strange.introspect(t, w.i)
	w.i.tell(map[string]any{"denies": true})
	denied := w.f.agent(w.ada, auth.Options{}).Login(t.Context())
	w.i.tell(map[string]any{"denies": false})
	for want, err := range map[string]error{"access_denied": denied,
		"invalid_target": strange.agent(w.ada, auth.Options{}).Login(t.Context())} {
		failed, _ := errors.AsType[*auth.Error](err)
		assert.Assert(t, failed != nil, "%v", err)
		assert.Equal(t, failed.Step, auth.StepAuthorize)
		assert.Equal(t, failed.Code, want)
	}
}

// document is the metadata document that the issuer reads about a client that it has not
// registered.
func (w *issued) document() {
	t := w.t
	count := w.i.since()
	a := w.f.agent(w.ada, auth.Options{MetadataURL: document})
	a.connects(mcp.Latest).reads()
	assert.Equal(t, a.has().Client, document)
	assert.Equal(t, count("registered"), 0)
}

// machines act for themselves. They may also have tokens for other servers, which this server
// refuses.
func (w *issued) machines() {
	t := w.t
	a := w.f.agent(w.ada,
		auth.Options{Grant: auth.ClientCredentials{},
			Clients: []auth.Registration{
				{Issuer: w.i.url, ClientID: "machine", Secret: machineSecret}}})
	a.connects(mcp.Latest).reads()
	assert.Equal(t, a.has().RefreshToken, "")
	got, challenge := status(t, w.f.url, "Bearer "+w.i.token(w.f.url))
	assert.Equal(t, got, http.StatusOK, challenge)
	got, challenge = status(t, w.f.url, "Bearer "+w.i.token(elsewhere))
	assert.Equal(t, got, http.StatusUnauthorized)
	assert.Assert(t, strings.Contains(challenge, "the token is for another resource"), challenge)
}

// refreshes happen once for all calls and all programs: the issuer would treat a second one as
// theft.
func (w *issued) refreshes() {
	t := w.t
	w.i.tell(map[string]any{"ttl": 12}) // the client does not use the last ten seconds
	assert.NilError(t, w.first.Login(t.Context()))
	second := w.f.agent(w.ada, auth.Options{Store: w.store})
	mine, theirs := w.first.connects(mcp.Latest), second.connects(mcp.Rev20251125)
	before := w.first.has()
	w.i.tell(map[string]any{"ttl": 600})
	count := w.i.since()
	<-time.After(time.Until(before.Expires.Add(-9900 * time.Millisecond)))
	readAtOnce(t, mine, theirs)
	assert.Equal(t, count("granted refresh_token"), 1)
	assert.Equal(t, count("granted authorization_code"), 0)
	after := w.first.has()
	assert.Assert(t, after.RefreshToken != before.RefreshToken &&
		after.AccessToken != before.AccessToken)
	assert.Equal(t, second.has().RefreshToken, after.RefreshToken)
}

// keysChange first adds a signing key, and then withdraws the earlier ones. The server detects this
// by the token of another client. A client with a refresh token renews its tokens that these keys
// have signed; a client whose refresh token was revoked logs in.
func (w *issued) keysChange() {
	t := w.t
	second := w.f.agent(w.ada, auth.Options{})
	mine, theirs := w.first.connects(mcp.Latest), second.connects(mcp.Latest)
	bearer := w.i.token(w.f.url)
	count := w.i.since()
	w.i.tell(map[string]any{"rotate": 2})
	assert.NilError(t, w.first.Login(t.Context()))
	readAtOnce(t, mine, theirs)
	assert.Equal(t, count("GET /jwks"), 1)
	assert.Equal(t, count("granted refresh_token"), 0)

	w.i.revoke(second.has().Registration.ClientID, second.has().RefreshToken)
	w.i.tell(map[string]any{"rotate": 1})
	old, revoked := w.first.has().AccessToken, second.has().AccessToken
	got, challenge := status(t, w.f.url, "Bearer "+bearer)
	assert.Equal(t, got, http.StatusOK, challenge) // no client has used the new key yet
	w.f.agent(w.ada, auth.Options{}).connects(mcp.Latest).reads()
	assert.Equal(t, count("GET /jwks"), 2)
	logins := count("granted authorization_code")
	mine.reads()
	assert.Equal(t, count("granted refresh_token"), 1)
	assert.Equal(t, count("granted authorization_code"), logins)
	assert.Assert(t, w.first.has().AccessToken != old)
	theirs.reads()
	assert.Equal(t, count("refused refresh_token: invalid_grant"), 1)
	assert.Equal(t, count("granted authorization_code"), logins+1)
	assert.Assert(t, second.has().AccessToken != revoked)
	got, challenge = status(t, w.f.url, "Bearer "+bearer)
	assert.Equal(t, got, http.StatusUnauthorized)
	assert.Assert(t, strings.Contains(challenge, "signed with an unknown key"), challenge)
}

// token returns a token of the machine for a server.
func (i *issuer) token(resource string) string {
	i.t.Helper()
	got, answer := i.post("/token", "machine", machineSecret,
		url.Values{"grant_type": {"client_credentials"}, "scope": {"mcp"}, "resource": {resource}})
	assert.Equal(i.t, got, http.StatusOK, "%v", answer)
	return fmt.Sprint(answer["access_token"])
}
