package auth_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

const (
	endpoint = "https://mcp.example/mcp"
	issuer   = "https://as.example/t"
	redirect = "http://127.0.0.1:9/callback"
)

// testServers are an MCP server, its authorization server and others, without a network. Every
// secret contains "s3cret".
type testServers struct {
	t     *testing.T
	hosts map[string]http.Handler // keyed by scheme and host

	mu   sync.Mutex
	seen []*recordedRequest
	log  bytes.Buffer

	challenge string // of the MCP server's 401
	// the response to a request with a token; nil: 200 for the current token
	accepts   func(r *http.Request) int
	prm       map[string]any // protected resource metadata
	asm       map[string]any // authorization server metadata
	authorize func(q url.Values) url.Values
	// the token response; nil or status 0: one of issue
	token    func(form url.Values, r *http.Request) (int, any)
	register func(body map[string]any) (int, any)

	made       int
	current    string            // the valid access token
	refresh    string            // the valid refresh token
	challenges map[string]string // PKCE challenges by code
}

// A recordedRequest is a request to any of the servers.
type recordedRequest struct {
	*http.Request
	body string
	form url.Values
}

func (s *recordedRequest) String() string {
	return s.Method + " " + s.URL.Scheme + "://" + s.URL.Host + s.URL.Path
}

func newWorld(t *testing.T) *testServers {
	w := &testServers{
		t: t, challenge: `Bearer error="invalid_token", scope="read", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`,
		prm: map[string]any{"resource": endpoint, "authorization_servers": []string{issuer},
			"scopes_supported": []string{"read", "write"}},
		asm: map[string]any{
			"issuer": issuer, "authorization_endpoint": "https://as.example/authorize?tenant=t",
			"token_endpoint":                                 "https://as.example/token",
			"registration_endpoint":                          "https://as.example/register",
			"code_challenge_methods_supported":               []string{"S256"},
			"token_endpoint_auth_methods_supported":          []string{"none"},
			"authorization_response_iss_parameter_supported": true,
		},
		challenges: map[string]string{},
	}
	mcp, as := http.NewServeMux(), http.NewServeMux()
	mcp.HandleFunc("/mcp", w.serveMCP)
	mcp.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", document(&w.prm))
	as.HandleFunc("GET /.well-known/oauth-authorization-server/t", document(&w.asm))
	as.HandleFunc("GET /authorize", w.serveAuthorize)
	as.HandleFunc("POST /token", w.serveToken)
	as.HandleFunc("POST /register", w.serveRegister)
	w.hosts = map[string]http.Handler{"https://mcp.example": mcp, "https://as.example": as}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		assert.Check(t, !strings.Contains(w.log.String(), "s3cret"), w.log.String())
	})
	return w
}

// document serves the current value of *doc, and 404 if it is nil.
func document(doc *map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if *doc == nil {
			http.NotFound(w, r)
			return
		}
		response(w, 200, *doc)
	}
}

func response(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if text, ok := v.(string); ok {
		_, _ = io.WriteString(w, text)
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (w *testServers) serveMCP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	status, good := 401, w.current
	accepts := w.accepts
	w.mu.Unlock()
	if _, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		switch {
		case accepts != nil:
			status = accepts(r)
		case token == good:
			status = 200
		}
	}
	if status != 200 && rw.Header().Get("WWW-Authenticate") == "" && w.challenge != "" {
		rw.Header().Set("WWW-Authenticate", w.challenge)
	}
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, "hello")
}

func (w *testServers) serveAuthorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.mu.Lock()
	w.made++
	code := fmt.Sprintf("s3cret-code-%d", w.made)
	w.challenges[code] = q.Get("code_challenge")
	w.mu.Unlock()
	v := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {fmt.Sprint(w.asm["issuer"])}}
	if w.authorize != nil {
		v = w.authorize(v)
	}
	rw.Header().Set("Location", q.Get("redirect_uri")+"?"+v.Encode())
	rw.WriteHeader(302)
}

func (w *testServers) serveToken(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	if w.token != nil {
		if status, v := w.token(r.PostForm, r); status != 0 {
			response(rw, status, v)
			return
		}
	}
	if r.PostForm.Get("grant_type") == "authorization_code" {
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		w.mu.Lock()
		challenge, ok := w.challenges[r.PostForm.Get("code")]
		w.mu.Unlock()
		if !ok || challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			response(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "PKCE"})
			return
		}
	}
	response(rw, 200, w.issue("Bearer"))
}

// issue creates a token, which invalidates the one before.
func (w *testServers) issue(kind string) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	w.current, w.refresh = fmt.Sprintf("s3cret-token-%d", w.made),
		fmt.Sprintf("s3cret-refresh-%d", w.made)
	return map[string]any{"access_token": w.current, "token_type": kind, "expires_in": 3600,
		"refresh_token": w.refresh}
}

func (w *testServers) serveRegister(rw http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	if w.register != nil {
		if status, v := w.register(body); status != 0 {
			response(rw, status, v)
			return
		}
	}
	response(rw, 201,
		map[string]any{"client_id": "registered", "redirect_uris": body["redirect_uris"]})
}

// RoundTrip passes a request to its host's handler. The response may be endless.
func (w *testServers) RoundTrip(req *http.Request) (*http.Response, error) {
	s := &recordedRequest{Request: req}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		s.body = string(body)
		s.form, _ = url.ParseQuery(s.body)
	}
	w.mu.Lock()
	w.seen = append(w.seen, s)
	w.mu.Unlock()
	host := w.hosts[req.URL.Scheme+"://"+req.URL.Host]
	if host == nil {
		return nil, errors.New("there is no such host")
	}
	inner := req.Clone(req.Context())
	inner.Body, inner.RequestURI = io.NopCloser(strings.NewReader(s.body)), req.URL.RequestURI()
	body, pipe := io.Pipe()
	rw := &responder{header: http.Header{}, body: pipe, began: make(chan struct{})}
	stop := context.AfterFunc(req.Context(),
		func() { _ = body.CloseWithError(context.Cause(req.Context())) })
	go func() {
		defer stop()
		defer pipe.Close()
		host.ServeHTTP(rw, inner)
		rw.WriteHeader(200)
	}()
	select {
	case <-rw.began:
		return &http.Response{Status: http.StatusText(rw.status), StatusCode: rw.status,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: rw.header, Body: body,
			ContentLength: -1, Request: req}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

type responder struct {
	header http.Header
	status int
	body   *io.PipeWriter
	once   sync.Once
	began  chan struct{}
}

func (r *responder) Header() http.Header { return r.header }
func (r *responder) WriteHeader(status int) {
	r.once.Do(func() { r.status = status; close(r.began) })
}
func (r *responder) Write(p []byte) (int, error) {
	r.WriteHeader(200)
	return r.body.Write(p)
}

// requestsAt returns the requests to a host, or all, in order.
func (w *testServers) requestsAt(host string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, s := range w.seen {
		if host == "" || s.URL.Host == host {
			all = append(all, s.String())
		}
	}
	return all
}

// requestsTo returns the requests to a path.
func (w *testServers) requestsTo(path string) []*recordedRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.seen),
		func(s *recordedRequest) bool { return s.URL.Path != path })
}

// count returns the number of requests to a path.
func (w *testServers) count(path string) int { return len(w.requestsTo(path)) }

// follow acts as a browser and a user who consents at once.
func (w *testServers) follow(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", page, nil)
	if err != nil {
		return "", err
	}
	resp, err := w.RoundTrip(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 302 {
		return "", errors.New(resp.Status)
	}
	return resp.Header.Get("Location"), nil
}

// options returns the Options of a client with a user.
func (w *testServers) options() auth.Options {
	return auth.Options{
		Name: "test", HTTP: &http.Client{Transport: w},
		Grant:  auth.AuthorizationCode{FetchRedirect: w.follow, RedirectURL: redirect},
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{w}, nil)),
	}
}

type lockedWriter struct{ w *testServers }

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.log.Write(p)
}

// A caller sends requests to the MCP server.
type caller struct {
	*auth.Authorizer
	w *testServers
	http.RoundTripper
}

func (w *testServers) client(o auth.Options) *caller {
	w.t.Helper()
	return w.clientOf(o, endpoint)
}

func (w *testServers) clientOf(o auth.Options, endpoint string) *caller {
	w.t.Helper()
	a, err := o.New(endpoint)
	assert.NilError(w.t, err)
	return &caller{a, w, a.Wrap(w)}
}

// call sends a request and returns the status of the response.
func (c *caller) call() (int, error) { return c.callWith(context.Background()) }

func (c *caller) callWith(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", endpoint, strings.NewReader("message"))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Mcp-Protocol-Version", "2025-03-26")
	resp, err := c.RoundTrip(req)
	if err != nil {
		assert.Check(c.w.t, !strings.Contains(err.Error(), "s3cret"), err.Error())
		return 0, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	assert.Check(c.w.t, cmp.Or(string(body), "hello") == "hello")
	return resp.StatusCode, err
}

// ok sends a request that must succeed.
func (c *caller) ok() {
	c.w.t.Helper()
	status, err := c.call()
	assert.NilError(c.w.t, err)
	assert.Equal(c.w.t, status, 200)
}
