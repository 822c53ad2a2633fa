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
	options      Options
	endpointText string // the endpoint as it was given, by which a Store knows it
	endpoint     *url.URL
	httpClient   *http.Client
	proxied      bool        // the endpoint is reached by a proxy
	sawPrivate   atomic.Bool // there was a connection to it at a private address
	sawPublic    atomic.Bool // or at another

	mu             sync.Mutex
	credentials    *Credentials  // never changed, only replaced
	storeRead      bool          // the Store has been asked
	storeReading   chan struct{} // closed when it has answered; nil: nobody asks it
	inFlight       *acquisition
	nonces         map[string]string // for DPoP, by origin
	lastFailure    error             // of an attempt that a person had a part in
	failureExpires time.Time         // it counts
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
		o.Store = recoverStore{o.Store}
	}
	a := &Authorizer{options: o, endpointText: endpoint, endpoint: u, nonces: make(map[string]string)}
	a.httpClient = a.newHTTPClient()
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
		if r.Issuer == "" && (r.Secret != "" || r.Key != nil || o.Grant != nil && o.Grant.unattended()) {
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
	if a.options.Grant == nil {
		return errors.New("auth: there is no Options.Grant to log in with")
	}
	p := credentialsRequest{login: true, extraScopes: more}
	var err error
	if p.challenge, err = a.probe(ctx); err != nil {
		return err
	}
	return a.acquire(ctx, p)
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
	for !a.storeRead {
		if reading := a.storeReading; reading != nil {
			a.mu.Unlock()
			<-reading
			a.mu.Lock()
			continue
		}
		reading := make(chan struct{})
		a.storeReading = reading
		a.mu.Unlock()
		stored := a.findStored(func(*Credentials) bool { return true })
		a.mu.Lock()
		if !a.storeRead { // else others have come meanwhile
			a.storeRead, a.credentials = true, stored
		}
		a.storeReading = nil
		close(reading)
	}
	return a.credentials
}

// findStored returns the newest credentials in the Store that are this client's and fit; nil if there are none.
func (a *Authorizer) findStored(fit func(*Credentials) bool) *Credentials {
	if a.options.Store == nil {
		return nil
	}
	all, err := a.options.Store.Find(a.endpointText)
	if err != nil {
		a.options.Logger.Warn("credentials cannot be read", slog.Any("error", err))
	}
	var newest *Credentials
	for _, c := range all {
		if err := c.prepare(); err != nil || c.Endpoint != a.endpointText || !a.matchesClient(&c) {
			continue
		}
		if fit(&c) && (newest == nil || c.Saved.After(newest.Saved)) {
			newest = &c
		}
	}
	return newest
}

// matchesClient says whether credentials belong to the client that is configured, or to one that was registered dynamically where none is, and were got in its way.
func (a *Authorizer) matchesClient(c *Credentials) bool {
	switch {
	case a.options.Grant != nil && a.options.Grant.grantType() != c.Grant:
		return false
	case len(a.options.Clients) > 0:
		return slices.ContainsFunc(a.options.Clients, func(r Registration) bool {
			return r.ClientID == c.Client && (r.Issuer == "" || r.Issuer == c.Issuer)
		})
	case c.Client == "":
		return true
	}
	return c.Client == a.options.MetadataURL
}

// setCredentials puts credentials in the place of those in use.
func (a *Authorizer) setCredentials(c *Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.credentials, a.storeRead = c, true
	if !c.withoutGrant {
		a.lastFailure = nil
	}
}

// setSaved makes new credentials the newest: Saved is after that of the old ones and of all that the
// Store has for the server. The clock alone cannot say so: it may stand still for 16 ms, as on
// Windows, or be set back.
func (a *Authorizer) setSaved(c, old *Credentials) {
	var before []Credentials
	if a.options.Store != nil {
		before, _ = a.options.Store.Find(a.endpointText) // whoever reads them to use them has told the error
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

// save puts credentials into the Store.
func (a *Authorizer) save(c *Credentials) {
	if a.options.Store == nil {
		return
	}
	if err := a.options.Store.Put(*c); err != nil {
		a.options.Logger.Warn("credentials cannot be kept: they are good until the program ends", slog.Any("error", err))
	}
}
