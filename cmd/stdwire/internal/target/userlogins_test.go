package target

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"github.com/stdwire/stdwire/client"
	clientauth "github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	streamableclient "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// A provider is an authorization server and an MCP server that accepts its tokens. Each browser has
// an account there, which its header X-Account names.
type provider struct {
	t    *testing.T
	url  string
	seen *recorder // the requests to the MCP server
	iss  string    // of authorization responses; "": as it should be
	// need is a scope that the MCP server demands for calls, beyond those of any token.
	need     atomic.Pointer[string]
	lifetime atomic.Int64 // of access tokens, in seconds

	mu        sync.Mutex
	n         int
	codes     map[string]url.Values // authorization requests, with account
	access    map[string]grant      // by access token
	refresh   map[string]grant      // by refresh token
	refreshes int
	revoked   []string
}

type grant struct{ account, scope string }

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, seen: new(recorder), codes: map[string]url.Values{},
		access: map[string]grant{}, refresh: map[string]grant{}}
	p.lifetime.Store(3600)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "who", Summary: "Says who calls.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			who, _ := ctx.Value(whoKey{}).(string)
			return "I know " + who, nil
		})
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	p.url = web.URL
	mux.Handle("/mcp", p.seen.requests(streamable.Options{Authorize: p.authorize}.New(
		server.New(server.Info{Name: "who", Version: "1"}, c))))
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 200, map[string]any{"resource": p.url + "/mcp",
				"authorization_servers": []string{p.url}})
		})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server",
		func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 200, map[string]any{"issuer": p.url,
				"authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token",
				"registration_endpoint":                          p.url + "/register",
				"revocation_endpoint":                            p.url + "/revoke",
				"code_challenge_methods_supported":               []string{"S256"},
				"token_endpoint_auth_methods_supported":          []string{"none"},
				"authorization_response_iss_parameter_supported": true})
		})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		answer(w, 201, map[string]any{"client_id": "registered",
			"redirect_uris": body["redirect_uris"]})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.n++
		code := fmt.Sprintf("code-%d", p.n)
		q.Set("account", r.Header.Get("X-Account"))
		p.codes[code] = q
		back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.url}}
		if p.iss != "" {
			back.Set("iss", p.iss)
		}
		if q.Get("account") == "" {
			back.Del("code")
			back.Set("error", "access_denied")
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.mu.Lock()
		defer p.mu.Unlock()
		var g grant
		switch f := r.PostForm; f.Get("grant_type") {
		case "authorization_code":
			q := p.codes[f.Get("code")]
			delete(p.codes, f.Get("code"))
			sum := sha256.Sum256([]byte(f.Get("code_verifier")))
			if q != nil && q.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
				q.Get("redirect_uri") == f.Get("redirect_uri") {
				g = grant{q.Get("account"), q.Get("scope")}
			}
		case "refresh_token":
			g = p.refresh[f.Get("refresh_token")]
			delete(p.refresh, f.Get("refresh_token")) // it counts once
			p.refreshes++
		}
		if g.account == "" {
			answer(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		p.n++
		token := fmt.Sprintf("upstream-%d-of-%s", p.n, g.account)
		p.access[token], p.refresh["refresh-"+token] = g, g
		answer(w, 200, map[string]any{"access_token": token, "token_type": "Bearer",
			"expires_in": p.lifetime.Load(), "refresh_token": "refresh-" + token, "scope": g.scope})
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.revoked = append(p.revoked, r.PostForm.Get("token"))
		p.forget(p.refresh[r.PostForm.Get("token")].account)
	})
	return p
}

// forget makes all tokens of an account invalid. p.mu is held.
func (p *provider) forget(account string) {
	for _, tokens := range []map[string]grant{p.access, p.refresh} {
		for token, g := range tokens {
			if g.account == account {
				delete(tokens, token)
			}
		}
	}
}

// expire makes the access tokens invalid; they can be renewed.
func (p *provider) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.access)
}

func (p *provider) authorize(r *http.Request) (streamable.Caller, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	g := p.access[token]
	p.mu.Unlock()
	if token == "of-the-service" {
		g.account = "service"
	}
	if g.account == "" {
		return streamable.Caller{}, &streamable.Refusal{Status: 401, Challenge: fmt.Sprintf(
			`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="read"`,
			p.url)}
	}
	need := p.need.Load()
	if need != nil && g.account != "service" && !strings.Contains(" "+g.scope+" ", " "+*need+" ") {
		return streamable.Caller{}, &streamable.Refusal{Status: 403, Challenge: fmt.Sprintf(
			`Bearer error="insufficient_scope", scope="%s"`, *need)}
	}
	return streamable.Caller{Principal: g.account,
		Context: context.WithValue(r.Context(), whoKey{}, g.account)}, nil
}

// A loginGateway is a gateway whose server "up" each user logs in to.
type loginGateway struct {
	t      *testing.T
	p      *provider
	url    string
	logins *login.Logins
	g      *gateway.Gateway
	log    *recorder
	add    func(query string) // adds the server, with a query in its URL
	tokens map[string]string
}

func newLoginGateway(t *testing.T, store *login.Store) *loginGateway {
	return newLoginGatewayAt(t, newProvider(t), store)
}

// newLoginGatewayAt returns a gateway of a provider, which other gateways may use too.
func newLoginGatewayAt(t *testing.T, p *provider, store *login.Store) *loginGateway {
	w := &loginGateway{t: t, p: p, log: new(recorder), tokens: map[string]string{
		"ada": "inbound-0123456789-of-ada", "bob": "inbound-9876543210-of-bob"}}
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	env := &config.Environment{Dir: t.TempDir(), Home: t.TempDir(), LookupEnv: os.LookupEnv,
		ReadFile: os.ReadFile, Exists: func(string) bool { return false }}
	f := config.Parse(env, config.Source{Path: "mcp.json", Workspace: env.Dir},
		fmt.Appendf(nil, `{"mcpServers": {"up": {"url": "%s/mcp",
			"headers": {"Authorization": "Bearer of-the-service"},
			"credentials": {"type": "oauth"}}}}`, w.p.url))
	assert.NilError(t, f.Err())
	front := server.New(server.Info{Name: "front", Version: "1"}, dispatch.NewCatalog())
	w.logins = login.New(store, logger)
	w.g = gateway.Options{Logger: logger, Audit: w.log, AuditValues: true,
		Interceptors: []dispatch.Interceptor{w.logins.Calls}}.New(front)
	t.Cleanup(func() {
		w.logins.Close()
		w.g.Close()
	})
	w.logins.Start(w.g)
	s := f.Servers[0]
	assert.NilError(t, s.Err)
	w.add = func(query string) {
		assert.NilError(t, w.g.Add(GatewayUpstream(s, &term.Streams{},
			func() (*config.Endpoint, error) {
				e, err := s.Resolve(env)
				if err == nil {
					e.URL += query
				}
				return e, err
			}, w.g, w.logins, logger)))
	}
	w.add("")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.g.Settle(ctx)
	resource, err := auth.Options{Resource: "https://gw.example/mcp",
		AuthorizationServers: []string{"https://as.example"}, Logger: logger,
		Verify: func(_ context.Context, token string) (*auth.Identity, error) {
			for user, known := range w.tokens {
				if token == known {
					return &auth.Identity{Issuer: "https://as.example", Subject: user,
						ClientID: "app"}, nil
				}
			}
			return nil, &auth.TokenError{Reason: "unknown"}
		}}.New()
	assert.NilError(t, err)
	mux := http.NewServeMux()
	mux.Handle(login.Path, w.logins.Handler())
	mux.Handle("/mcp", streamable.Options{Authorize: resource.Authorize}.New(front))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	w.url = web.URL
	w.logins.SetBase(web.URL)
	return w
}

// A webBrowser is a browser with cookies and an account at the provider.
type webBrowser struct {
	t       *testing.T
	account string
	http.Client
}

func newBrowser(t *testing.T, account string) *webBrowser {
	jar, err := cookiejar.New(nil)
	assert.NilError(t, err)
	b := &webBrowser{t: t, account: account, Client: http.Client{Jar: jar, Timeout: time.Minute}}
	b.Transport = accountTransport(account)
	return b
}

type accountTransport string

func (a accountTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Account", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// read returns the status and the text of a page.
func (b *webBrowser) read(resp *http.Response, err error) (int, string) {
	b.t.Helper()
	assert.NilError(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	assert.NilError(b.t, err)
	return resp.StatusCode, string(text)
}

var formToken = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// consent opens a link and sends the form of its page. It returns the last page.
func (b *webBrowser) consent(link, answer string) (int, string) {
	b.t.Helper()
	status, text := b.read(b.Get(link))
	found := formToken.FindStringSubmatch(text)
	if status != 200 || found == nil {
		return status, text
	}
	return b.read(b.PostForm(link, url.Values{"token": {found[1]}, "answer": {answer}}))
}

// connect returns a client of a user, whose elicitations open answers.
func (w *loginGateway) connect(era mcp.Era, user string,
	open func(link string) mcp.ElicitAction) *client.Client {
	w.t.Helper()
	o := client.Options{Era: era, Info: mcp.Implementation{Name: "app of " + user, Version: "1"}}
	if open != nil {
		o.ElicitModes = []string{mcp.ElicitURL}
		o.OnElicit = func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: open(p.URL)}, nil
		}
	}
	c, err := o.Connect(w.t.Context(), streamableclient.Options{
		Header: http.Header{"Authorization": {"Bearer " + w.tokens[user]}}}.Dial(w.url+"/mcp"))
	assert.NilError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// who calls the tool and returns the text of the result, or of the error.
func (w *loginGateway) who(c *client.Client) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	result, err := c.CallTool(ctx, "up__who", nil)
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := mcp.Marshal(result)
	assert.NilError(w.t, err)
	return string(text)
}

var linkIn = regexp.MustCompile(`http://[^"\\ ]+/oauth/start/[A-Z2-7]+`)

// Each user is asked once, in both eras and without URL mode, and gets his own credentials. Nothing
// of what users send to the gateway, and no credential of the service, is on their requests.
func TestUserLogins(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	asked := map[string]int{}
	var mu sync.Mutex
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		for _, user := range []string{"ada", "bob"} {
			b := newBrowser(t, user)
			c := w.connect(era, user, func(link string) mcp.ElicitAction {
				mu.Lock()
				asked[user]++
				mu.Unlock()
				status, text := b.consent(link, "yes")
				assert.Check(t, cmp.Equal(status, 200), text)
				assert.Check(t, cmp.Contains(text, "You have logged in to up"))
				return mcp.ElicitAccept
			})
			for range 2 {
				assert.Check(t, cmp.Contains(w.who(c), "I know "+user+`"`))
			}
		}
	}
	assert.DeepEqual(t, asked, map[string]int{"ada": 1, "bob": 1})
	for user, token := range w.tokens {
		for what, r := range map[string]*recorder{"a request": w.p.seen, "the log": w.log} {
			assert.Check(t, cmp.Equal(quotes(r.String(), token), ""), "%s of %s", what, user)
		}
		assert.Check(t, !strings.Contains(w.log.String(), "-of-"+user), w.log.String())
	}
	assert.Check(t, !linkIn.MatchString(w.log.String()))
}

// A client without URL mode gets the link in the text of a result, as does a user who declines an
// error.
func TestLinkInText(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		c := w.connect(era, "ada", nil)
		text := w.who(c)
		assert.Check(t, cmp.Contains(text, `"isError":true`))
		link := linkIn.FindString(text)
		assert.Assert(t, link != "", text)
		assert.Equal(t, linkIn.FindString(w.who(c)), link, "the link stays")
		if era == mcp.Legacy {
			status, page := newBrowser(t, "ada").consent(link, "yes")
			assert.Equal(t, status, 200, page)
			assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
		}
	}
	declined := w.connect(mcp.Modern, "bob", func(string) mcp.ElicitAction { return mcp.ElicitDecline })
	assert.Check(t, cmp.Contains(w.who(declined), "did not want to"))
	assert.Check(t, !linkIn.MatchString(w.log.String()), "in the log")
}

// asking connects a user whose browser agrees, and counts how often he is asked.
func (w *loginGateway) asking(era mcp.Era, user string) (c *client.Client, asked *atomic.Int64) {
	b := newBrowser(w.t, user)
	asked = new(atomic.Int64)
	return w.connect(era, user, func(link string) mcp.ElicitAction {
		asked.Add(1)
		b.consent(link, "yes")
		return mcp.ElicitAccept
	}), asked
}

// An expired token is renewed once, however many calls need it; a refused renewal, a token that is
// refused and missing scopes make the gateway ask again, and never use the service's credential.
func TestLoginRenewed(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	c, asked := w.asking(mcp.Legacy, "ada")
	assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
	w.p.expire()
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() { assert.Check(t, cmp.Contains(w.who(c), "I know ada")) })
	}
	calls.Wait()
	w.p.mu.Lock()
	assert.Equal(t, w.p.refreshes, 1)
	w.p.forget("ada") // at the authorization server
	w.p.mu.Unlock()
	assert.Equal(t, asked.Load(), int64(1))
	assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
	assert.Equal(t, asked.Load(), int64(2))

	need := "write"
	w.p.need.Store(&need)
	assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
	assert.Equal(t, asked.Load(), int64(3))
	w.p.mu.Lock()
	for _, g := range w.p.access {
		assert.Check(t, g.scope == "read" || g.scope == "read write", g.scope)
	}
	w.p.forget("ada")
	w.p.mu.Unlock()
	declined := w.connect(mcp.Modern, "ada", func(string) mcp.ElicitAction {
		return mcp.ElicitDecline
	})
	assert.Check(t, cmp.Contains(w.who(declined), "did not want to"))
	assert.Check(t, !strings.Contains(w.who(declined), "I know"))
	modern, again := w.asking(mcp.Modern, "ada")
	assert.Check(t, cmp.Contains(w.who(modern), "I know ada"))
	assert.Equal(t, again.Load(), int64(2), "once to log in, once for the scope")
}

// Two calls that need different scopes do not take turns in asking: a new token has the scopes of
// the one that it replaces.
func TestStepUpKeepsScopes(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	c, asked := w.asking(mcp.Modern, "ada")
	for i, need := range []string{"write", "admin", "write", "admin", "read"} {
		w.p.need.Store(&need)
		assert.Check(t, cmp.Contains(w.who(c), "I know ada"), need)
		assert.Check(t, cmp.Equal(asked.Load(), int64(min(i+2, 3))), need)
	}
}

// Who has logged in to a server whose URL is another one now is asked again, at once.
func TestLoginOfChangedServer(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	c, asked := w.asking(mcp.Legacy, "ada")
	assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
	w.g.Remove("up")
	w.add("?version=2")
	assert.Check(t, cmp.Contains(w.who(c), "I know ada"))
	assert.Equal(t, asked.Load(), int64(2))
}

// What is revoked by another process ends the connection of the user, and he is asked again.
func TestLoginRevoked(t *testing.T) {
	path, key := filepath.Join(t.TempDir(), "users.json"), []byte(strings.Repeat("k", 32))
	store, err := login.Open(path, key)
	assert.NilError(t, err)
	w := newLoginGateway(t, store)
	ada, asked := w.asking(mcp.Modern, "ada")
	bob, _ := w.asking(mcp.Modern, "bob")
	assert.Check(t, cmp.Contains(w.who(ada), "I know ada"))
	assert.Check(t, cmp.Contains(w.who(bob), "I know bob"))
	connected := func() (users int) {
		for _, s := range w.g.Manager().Status() {
			if s.Session != "" {
				users++
			}
		}
		return users
	}
	assert.Equal(t, connected(), 2)
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	for _, secret := range []string{"upstream-", "refresh-"} {
		assert.Check(t, !strings.Contains(string(text), secret))
	}
	other, err := login.Open(path, key)
	assert.NilError(t, err)
	all, err := other.All(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].User, "https://as.example#ada")
	assert.Equal(t, all[0].Client, "app")
	unrevoked, err := other.Revoke(t.Context(), all[0].Key(),
		func() clientauth.Options { return clientauth.Options{} })
	assert.NilError(t, err)
	assert.NilError(t, unrevoked)
	assert.Equal(t, len(w.p.revoked), 1)
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if connected() == 2 {
			return poll.Continue("both are connected")
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	assert.Check(t, cmp.Contains(w.who(ada), "I know ada"))
	assert.Equal(t, asked.Load(), int64(2))
	assert.Check(t, cmp.Contains(w.who(bob), "I know bob"))
}

// A link serves its user, once, in one browser; and what the authorization server answers counts
// only in that one, if it comes from there.
func TestLoginAttacks(t *testing.T) {
	w := newLoginGateway(t, login.NewMemory())
	link := func(user string) string {
		text := w.who(w.connect(mcp.Modern, user, nil))
		found := linkIn.FindString(text)
		assert.Assert(t, found != "", text)
		return found
	}
	// stop makes a browser stop before it returns to the gateway, and returns where it would go.
	stop := func(b *webBrowser, link string) (callback string) {
		b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), w.url) {
				callback = r.URL.String()
				return http.ErrUseLastResponse
			}
			return nil
		}
		b.consent(link, "yes")
		b.CheckRedirect = nil
		assert.Assert(t, callback != "")
		return callback
	}
	refused := func(status int, text string, with int, want string) {
		t.Helper()
		assert.Check(t, cmp.Equal(status, with))
		assert.Check(t, cmp.Contains(text, want))
	}
	ada, bob, eve := newBrowser(t, "ada"), newBrowser(t, "bob"), newBrowser(t, "eve")

	// somebody else's link, after its user has begun
	of := link("ada")
	callback := stop(ada, of)
	status, text := eve.consent(of, "yes")
	refused(status, text, 403, "another browser")
	// login CSRF: a browser without a cookie of the gateway gets the answer
	fresh := newBrowser(t, "eve")
	status, text = fresh.read(fresh.Get(callback))
	refused(status, text, 403, "Nobody has begun")
	status, text = ada.read(ada.Get(callback))
	assert.Equal(t, status, 200, text)
	// replayed
	status, text = ada.read(ada.Get(callback))
	refused(status, text, 403, "This login is not valid")
	status, text = ada.consent(of, "yes")
	refused(status, text, 404, "not valid")
	assert.Check(t, cmp.Contains(w.who(w.connect(mcp.Modern, "ada", nil)), "I know ada"))

	// the browser of ada does not open the link of bob, which he has sent to her
	of = link("bob")
	status, text = ada.consent(of, "yes")
	refused(status, text, 403, "for somebody else")
	// login CSRF: bob sends his answer to a browser that has a cookie of the gateway
	status, text = eve.read(eve.Get(link("bob")))
	assert.Equal(t, status, 200, text)
	gw, err := url.Parse(of)
	assert.NilError(t, err)
	assert.Check(t, len(eve.Jar.Cookies(gw)) > 0)
	callback = stop(bob, of)
	status, text = eve.read(eve.Get(callback))
	refused(status, text, 403, "another browser")
	status, text = bob.read(bob.Get(callback))
	refused(status, text, 403, "not valid") // which ends it

	// a form that the page has not sent
	of = link("bob")
	status, text = bob.read(bob.PostForm(of, url.Values{"answer": {"yes"},
		"token": {strings.Repeat("0", 32)}}))
	refused(status, text, 403, "did not come from the page")
	// mix-up: another authorization server answers
	w.p.iss = "https://evil.example"
	status, text = bob.consent(of, "yes")
	refused(status, text, 502, "another authorization server")
	w.p.iss = ""
	// the user refuses at the authorization server
	status, text = newBrowser(t, "").consent(link("bob"), "yes")
	refused(status, text, 502, "access_denied")
	status, text = bob.consent(link("bob"), "no")
	assert.Equal(t, status, 200)
	assert.Check(t, cmp.Contains(text, "Nothing was permitted"))
	assert.Check(t, !strings.Contains(w.who(w.connect(mcp.Modern, "bob", nil)), "I know"))
	status, text = bob.consent(link("bob"), "yes")
	assert.Equal(t, status, 200, text)
	resp, err := bob.Get(w.url + "/oauth/start/unknown")
	assert.NilError(t, err)
	assert.Check(t, cmp.Contains(resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'"))
	assert.Equal(t, resp.Header.Get("Referrer-Policy"), "no-referrer")
	assert.NilError(t, resp.Body.Close())
}
