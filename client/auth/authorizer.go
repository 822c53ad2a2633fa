package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// Options are how a program authorizes its requests. The zero value has no way to get a token, and only uses what there is in a Store.
type Options struct {
	// Grant is how a token is obtained: [AuthorizationCode] where there is a user, or [ClientCredentials], [JWTBearer], [IdentityAssertion]. With nil,
	// credentials in the Store are used and refreshed, and where there are none the server's refusal stands.
	Grant Grant
	// Name is what authorization servers are told that the program is called, when it is registered dynamically. Default "MCP client".
	Name string
	// MetadataURL is the https: URL of the program's client ID metadata document, for authorization servers that want one. "" if it has none.
	MetadataURL string
	// Clients are registrations that were made beforehand, one for an authorization server.
	Clients []Registration
	// Scopes are asked for where the server does not say which ones are needed, in place of all that it has.
	Scopes []string
	// Store keeps credentials; nil keeps them in memory.
	Store Store
	// HTTP makes the requests to authorization servers and for metadata; nil is a client of the Authorizer's own, with the proxies of the environment, that
	// does not connect to private addresses unless the MCP server is at one. Its CheckRedirect is not used: redirects are followed at the same origin only, and
	// not for what has secrets in it.
	HTTP *http.Client
	// AllowPrivate lets the Authorizer's own client connect to private addresses.
	AllowPrivate bool
	// Logger hears of what nobody else is told, such as a Store that fails. Default [slog.Default].
	Logger *slog.Logger
}

// An Authorizer authorizes the requests to one MCP server. It is safe for concurrent use, and may be shared by all connections to that server.
type Authorizer struct {
	o        Options
	text     string // the endpoint as it was given, by which a Store knows it
	endpoint *url.URL
	http     *http.Client
	proxied  bool        // the endpoint is reached by a proxy
	private  atomic.Bool // there was a connection to it at a private address
	public   atomic.Bool // or at another

	mu      sync.Mutex
	held    *Credentials  // never changed, only replaced
	read    bool          // the Store has been asked
	reading chan struct{} // closed when it has answered; nil: nobody asks it
	flight  *flight
	nonces  map[string]string // for DPoP, by origin
	failed  error             // of an attempt that a person had a part in
	until   time.Time         // it counts
}

const (
	defaultName     = "MCP client"
	defaultRedirect = "http://127.0.0.1/callback"
)

// New returns what authorizes requests to the MCP server at a URL. Nothing is sent before a request is.
func (o Options) New(endpoint string) (*Authorizer, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("auth: that is no URL of http: or https:") // the error would print it, with all that is secret in it
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Name, o.Logger = cmp.Or(o.Name, defaultName), contain.Logger(o.Logger)
	if o.Store != nil {
		o.Store = containedStore{o.Store}
	}
	a := &Authorizer{o: o, text: endpoint, endpoint: u, nonces: make(map[string]string)}
	a.http = a.client()
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	a.proxied = proxy != nil || err != nil
	return a, nil
}

// check reports what cannot be.
func (o *Options) check() error {
	if o.MetadataURL != "" {
		if m, err := url.Parse(o.MetadataURL); err != nil || m.Scheme != "https" || m.Host == "" || m.Path == "" || m.Path == "/" || m.Fragment != "" || m.User != nil {
			return errors.New("auth: Options.MetadataURL is not an https: URL with a path")
		}
	}
	if o.Grant != nil {
		if err := o.Grant.check(); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
	}
	for i, r := range o.Clients {
		if r.ClientID == "" {
			return errors.New("auth: a registration in Options.Clients has no ClientID")
		}
		if r.Issuer == "" && (r.Secret != "" || r.Key != nil || o.Grant != nil && o.Grant.alone()) {
			return fmt.Errorf("auth: client %q in Options.Clients has no Issuer: name the authorization server that may see its secret, key or assertion, "+
				"or the MCP server could name any", r.ClientID)
		}
		if err := checkURL(r.Issuer); r.Issuer != "" && err != nil {
			return fmt.Errorf("auth: the Issuer of client %q: %w", r.ClientID, err)
		}
		if slices.ContainsFunc(o.Clients[:i], func(other Registration) bool { return other.Issuer == r.Issuer }) {
			return fmt.Errorf("auth: there are two registrations in Options.Clients for %q", r.Issuer)
		}
		if _, err := r.signer(); r.Key != nil && err != nil {
			return fmt.Errorf("auth: the key of client %q: %w", r.ClientID, err)
		}
	}
	return nil
}

// Login obtains new credentials whether they are wanted now or not, after it has asked the server, without a token, which ones it wants. Scopes in more are
// asked for besides. It takes as long as the user does, or until ctx ends; with [AuthorizationCode] that is better done before a connection is made, whose time
// would run out. The error is an [*Error] or that of ctx.
func (a *Authorizer) Login(ctx context.Context, more ...string) error {
	if a.o.Grant == nil {
		return errors.New("auth: there is no Options.Grant to log in with")
	}
	p := problem{login: true, more: more}
	var err error
	if p.wants, err = a.ask(ctx); err != nil {
		return err
	}
	return a.solve(ctx, p)
}

// Credentials returns those that are in use; ok is false if there are none.
func (a *Authorizer) Credentials() (c Credentials, ok bool) {
	if held := a.current(); held != nil {
		return *held, true
	}
	return Credentials{}, false
}

// current returns the credentials in use, which at first are those in the Store; nil if there are
// none.
func (a *Authorizer) current() *Credentials {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.read {
		if reading := a.reading; reading != nil {
			a.mu.Unlock()
			<-reading
			a.mu.Lock()
			continue
		}
		reading := make(chan struct{})
		a.reading = reading
		a.mu.Unlock()
		stored := a.stored(func(*Credentials) bool { return true })
		a.mu.Lock()
		if !a.read { // else others have come meanwhile
			a.read, a.held = true, stored
		}
		a.reading = nil
		close(reading)
	}
	return a.held
}

// stored returns the newest credentials in the Store that are this client's and fit; nil if there are none.
func (a *Authorizer) stored(fit func(*Credentials) bool) *Credentials {
	if a.o.Store == nil {
		return nil
	}
	all, err := a.o.Store.Find(a.text)
	if err != nil {
		a.o.Logger.Warn("credentials cannot be read", slog.Any("error", err))
	}
	var newest *Credentials
	for _, c := range all {
		if err := c.complete(); err != nil || c.Endpoint != a.text || !a.isOurs(&c) {
			continue
		}
		if fit(&c) && (newest == nil || c.Saved.After(newest.Saved)) {
			newest = &c
		}
	}
	return newest
}

// isOurs says whether credentials belong to the client that is configured, or to one that was registered dynamically where none is, and were got in its way.
func (a *Authorizer) isOurs(c *Credentials) bool {
	switch {
	case a.o.Grant != nil && a.o.Grant.name() != c.Grant:
		return false
	case len(a.o.Clients) > 0:
		return slices.ContainsFunc(a.o.Clients, func(r Registration) bool {
			return r.ClientID == c.Client && (r.Issuer == "" || r.Issuer == c.Issuer)
		})
	case c.Client == "":
		return true
	}
	return c.Client == a.o.MetadataURL
}

// hold puts credentials in the place of those in use.
func (a *Authorizer) hold(c *Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held, a.read = c, true
	if !c.renewed {
		a.failed = nil
	}
}

// follow makes new credentials the newest: Saved is after that of the old ones and of all that the
// Store has for the server. The clock alone cannot say so: it may stand still for 16 ms, as on
// Windows, or be set back.
func (a *Authorizer) follow(c, old *Credentials) {
	var before []Credentials
	if a.o.Store != nil {
		before, _ = a.o.Store.Find(a.text) // whoever reads them to use them has told the error
	}
	if old != nil {
		before = append(slices.Clone(before), *old)
	}
	for _, b := range before {
		if !c.Saved.After(b.Saved) {
			c.Saved = b.Saved.Add(time.Nanosecond)
		}
	}
}

// keep puts credentials into the Store.
func (a *Authorizer) keep(c *Credentials) {
	if a.o.Store == nil {
		return
	}
	if err := a.o.Store.Put(*c); err != nil {
		a.o.Logger.Warn("credentials cannot be kept: they are good until the program ends", slog.Any("error", err))
	}
}
