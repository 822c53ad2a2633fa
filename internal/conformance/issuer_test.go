//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// An issuer is oidc-provider in its own process: see issuer.mjs.
type issuer struct {
	t   *testing.T
	url string
}

// A target is a server that tokens are issued for.
type target struct {
	Format string `json:"format"` // "jwt" or "opaque"
	Scope  string `json:"scope"`
}

// machineSecret is the secret of machine, a client that is registered in advance and acts for
// itself.
const machineSecret = "the secret of a machine"

var machine = map[string]any{
	"client_id": "machine", "client_secret": machineSecret,
	"grant_types": []string{"client_credentials"}, "redirect_uris": []string{},
	"response_types": []string{},
}

// issuer starts an issuer, which ends with the test.
func (b *bench) issuer(argument map[string]any) *issuer {
	b.t.Helper()
	script, err := os.ReadFile("node/issuer.mjs")
	assert.NilError(b.t, err)
	b.write("issuer.mjs", string(script))
	what, err := json.Marshal(argument)
	assert.NilError(b.t, err)
	cmd := exec.Command("node", "issuer.mjs", string(what))
	b.find(cmd)
	var complained bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = b.dir, b.env, &complained
	stdin, err := cmd.StdinPipe()
	assert.NilError(b.t, err)
	stdout, err := cmd.StdoutPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		assert.Check(b.t, stdin.Close())
		assert.Check(b.t, cmd.Wait())
		assert.Check(b.t, complained.Len() == 0, "the issuer said: %s", complained.String())
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	assert.NilError(b.t, err) // the reason is printed when the process has ended
	return &issuer{b.t, strings.TrimSpace(line)}
}

// oneByOne is a client with a connection for each request: Node.js closes those that have been idle
// for five seconds, and a POST that reaches one then fails.
var oneByOne = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// tell changes settings of the issuer, and returns the numbers of its events.
func (i *issuer) tell(what map[string]any) map[string]int {
	i.t.Helper()
	body, err := json.Marshal(what)
	assert.NilError(i.t, err)
	r, err := oneByOne.Post(i.url+"/admin", "application/json", bytes.NewReader(body))
	assert.NilError(i.t, err)
	defer r.Body.Close()
	assert.Equal(i.t, r.StatusCode, http.StatusOK)
	var happened map[string]int
	assert.NilError(i.t, json.NewDecoder(r.Body).Decode(&happened))
	return happened
}

// since returns a function that returns how often an event has happened since.
func (i *issuer) since() func(what string) int {
	i.t.Helper()
	before := i.tell(map[string]any{})
	return func(what string) int {
		i.t.Helper()
		return i.tell(map[string]any{})[what] - before[what]
	}
}

// post sends a form, as a client with this id and secret, or as one without a secret, and returns
// the members of the response.
func (i *issuer) post(path, id, secret string, form url.Values) (int, map[string]any) {
	i.t.Helper()
	if secret == "" {
		form.Set("client_id", id)
	}
	r, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.url+path,
		strings.NewReader(form.Encode()))
	assert.NilError(i.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" {
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
	response, err := oneByOne.Do(r)
	assert.NilError(i.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(i.t, err)
	var answer map[string]any
	assert.Check(i.t, len(text) == 0 || json.Unmarshal(text, &answer) == nil, "%s", text)
	return response.StatusCode, answer
}

// revoke revokes a token of a client without a secret, as its user may do at the issuer.
func (i *issuer) revoke(client, token string) {
	i.t.Helper()
	status, answer := i.post("/token/revocation", client, "", url.Values{"token": {token}})
	assert.Equal(i.t, status, http.StatusOK, "%v", answer)
}

// A browser follows redirects, and keeps cookies.
type browser struct {
	t     *testing.T
	http  http.Client
	pages sync.WaitGroup
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	assert.NilError(t, err)
	b := &browser{t: t, http: http.Client{Jar: jar}}
	t.Cleanup(b.pages.Wait)
	return b
}

// show is for AuthorizationCode.Show.
func (b *browser) show(_ context.Context, page string) error {
	b.pages.Go(func() {
		r, err := b.http.Get(page)
		if !assert.Check(b.t, err) {
			return
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		assert.Check(b.t, err)
		assert.Check(b.t, r.StatusCode == http.StatusOK &&
			strings.Contains(string(text), "go back to the program"), "%d: %s", r.StatusCode, text)
	})
	return nil
}

// A front is the address at which clients find a server that starts later: it exists before the
// server, like the address of a proxy.
type front struct {
	*httptest.Server
	url string
}

func newFront(t *testing.T) *front {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &front{server, "http://" + server.Listener.Addr().String() + "/mcp"}
}

func (f *front) serve(handler http.Handler) {
	f.Config.Handler = handler
	f.Start()
}

// protect starts the built-in server with the tokens of an issuer, and a tap at the front.
func (b *bench) protect(f *front, i *issuer) *site {
	b.t.Helper()
	b.write("root/hello.txt", "Hello, world.\n")
	return b.protectWith(f, i, "was refused", "--root", b.path("root"), "--write")
}

// protectWith is protect for other flags than these, and another complaint that is permitted.
func (b *bench) protectWith(f *front, i *issuer, grumble string, flags ...string) *site {
	b.t.Helper()
	command := append([]string{binary(b.t), "serve"}, flags...)
	s := &site{bench: b, preface: "accepting access tokens", grumble: grumble,
		command: append(command, "--oauth-issuer", i.url, "--oauth-audience", f.url,
			"--oauth-scope", "mcp", "--http")}
	s.start("127.0.0.1:0")
	b.t.Cleanup(func() { s.stop(syscall.SIGTERM) })
	tap, err := conformance.NewHTTPTap(b.path("record"), s.direct)
	assert.NilError(b.t, err)
	b.t.Cleanup(func() { assert.Check(b.t, tap.Close()) })
	f.serve(tap)
	s.tapped = f.url
	return s
}

// status returns the response of an endpoint to a message with an Authorization header, or without
// one.
func status(t *testing.T, url, authorization string, header ...string) (int, string) {
	t.Helper()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		strings.NewReader(initialize))
	assert.NilError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	assert.NilError(t, err)
	return response.StatusCode, response.Header.Get("WWW-Authenticate")
}
