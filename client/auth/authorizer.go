package auth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/lograte"
)

// Options configure an [Authorizer]. With the zero value, the Authorizer only uses and refreshes
// credentials that a Store holds.
type Options struct {
	// Grant obtains tokens: [AuthorizationCode] where there is a user, or [ClientCredentials],
	// [JWTBearer], [IdentityAssertion] or [TokenExchange]. If it is nil, credentials in the Store
	// are used and refreshed; without any, the server's refusal is returned.
	Grant Grant
	// Eager obtains a token before the first request, rather than when the server refuses one
	// without a token. It is for servers that also serve callers whom they do not know, who must
	// not be confused with the user. It needs a Grant that works without a user.
	Eager bool
	// Name is the client_name of a dynamic registration. Default "MCP client".
	Name string
	// MetadataURL is the https: URL of the program's client ID metadata document, for authorization
	// servers that support such documents. "" means that the program has no document.
	MetadataURL string
	// Clients are registrations made beforehand, at most one for each authorization server.
	Clients []Registration
	// Issuer is the authorization server that the user trusts for the MCP server, whatever the MCP
	// server names: its metadata must have exactly this issuer. It is for MCP servers that name
	// their authorization server by another URL than its metadata does. "" means the one that the
	// MCP server names.
	Issuer string
	// Scopes are requested when the server's challenge names no scopes. If they are nil, all scopes
	// in the server's metadata are requested.
	Scopes []string
	// Store keeps credentials. If it is nil, they are kept in memory only.
	Store Store
	// HTTP sends the requests to authorization servers and for metadata. If it is nil, the
	// Authorizer uses a client of its own, which honors the proxies of the environment and does not
	// connect to private addresses unless the MCP server has one. Its CheckRedirect is ignored:
	// only GET requests follow redirects, and only within one origin.
	HTTP *http.Client
	// TLS is the configuration of TLS for the Authorizer's own HTTP client. The default is that of
	// crypto/tls. It and HTTP exclude each other.
	TLS *tls.Config
	// AllowPrivate lets the Authorizer's own HTTP client connect to private addresses. It and HTTP
	// exclude each other.
	AllowPrivate bool
	// Logger receives failures that no call returns, such as those of a Store. Default
	// [slog.Default].
	Logger *slog.Logger
}

// An Authorizer authorizes the requests to one MCP server. It is safe for concurrent use, and all
// connections to that server may share it.
type Authorizer struct {
	options      Options
	endpointText string // the URL passed to New; the Store's key
	endpoint     *url.URL
	httpClient   *http.Client
	proxied      bool        // the endpoint is reached through a proxy
	sawPrivate   atomic.Bool // a connection to the endpoint used a private address
	sawPublic    atomic.Bool // a connection to the endpoint used a public address

	mu             sync.Mutex
	credentials    *Credentials  // immutable: replaced as a whole
	storeRead      bool          // the Store's credentials have been loaded
	storeReading   chan struct{} // closed when the load in progress ends; nil if none is
	inFlight       *acquisition
	nonces         map[string]string // DPoP nonces by origin
	lastFailure    error             // of an acquisition that involved the user
	failureExpires time.Time         // lastFailure is ignored from then on
	exchange       exchangeFailure   // of TokenExchange
}

const (
	defaultName     = "MCP client"
	defaultRedirect = "http://127.0.0.1/callback"
)

// New returns an Authorizer for the MCP server at endpoint, an http: or https: URL. It sends
// nothing.
func (o Options) New(endpoint string) (*Authorizer, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// url.Error could show secrets
		return nil, errors.New("auth: the endpoint is not an http: or https: URL")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Name, o.Logger = cmp.Or(o.Name, defaultName), lograte.Logger(o.Logger)
	if o.Store != nil {
		o.Store = recoverStore{o.Store}
	}
	a := &Authorizer{options: o, endpointText: endpoint, endpoint: u,
		nonces: make(map[string]string)}
	a.httpClient = a.newHTTPClient()
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	a.proxied = proxy != nil || err != nil
	return a, nil
}

// check validates the options.
func (o *Options) check() error {
	if o.MetadataURL != "" {
		m, err := url.Parse(o.MetadataURL)
		if err != nil || m.Scheme != "https" || m.Host == "" || m.Path == "" || m.Path == "/" ||
			m.Fragment != "" || m.User != nil {
			return errors.New("auth: Options.MetadataURL is not an https: URL with a path")
		}
	}
	if o.HTTP != nil && (o.TLS != nil || o.AllowPrivate) {
		return errors.New("auth: Options.TLS and AllowPrivate are for the Authorizer's own HTTP client: leave them out with Options.HTTP")
	}
	if err := checkURL(o.Issuer); o.Issuer != "" && err != nil {
		return fmt.Errorf("auth: Options.Issuer: %w", err)
	}
	if o.Issuer != "" && len(o.Clients) > 0 && !slices.ContainsFunc(o.Clients,
		func(r Registration) bool { return r.Issuer == "" || r.Issuer == o.Issuer }) {
		return errors.New("auth: Options.Clients has no registration for Options.Issuer")
	}
	if o.Eager && (o.Grant == nil || !o.Grant.unattended()) {
		return errors.New("auth: Options.Eager needs a Grant that works without a user")
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
		if r.Issuer == "" &&
			(r.Secret != "" || r.Key != nil || o.Grant != nil && o.Grant.unattended()) {
			return fmt.Errorf(
				"auth: client %q in Options.Clients has no Issuer: set it to the only "+
					"authorization server that may receive its secret, signature or assertion",
				r.ClientID)
		}
		if err := checkURL(r.Issuer); r.Issuer != "" && err != nil {
			return fmt.Errorf("auth: the Issuer of client %q: %w", r.ClientID, err)
		}
		if slices.ContainsFunc(o.Clients[:i],
			func(other Registration) bool { return other.Issuer == r.Issuer }) {
			return fmt.Errorf("auth: Options.Clients has two registrations for %q", r.Issuer)
		}
		if _, err := r.signer(); r.Key != nil && err != nil {
			return fmt.Errorf("auth: the key of client %q: %w", r.ClientID, err)
		}
	}
	return nil
}

// Login obtains new credentials even if those in use are valid. It first sends the server a request
// without a token to learn which scopes it requires, and requests extraScopes besides. It blocks
// until the user has responded or ctx ends. With [AuthorizationCode], call it before connecting, so
// that the connection's start timeout does not run out while the user logs in. The error is an
// [*Error] or the cause of ctx.
func (a *Authorizer) Login(ctx context.Context, extraScopes ...string) error {
	if a.options.Grant == nil {
		return errors.New("auth: Login needs Options.Grant")
	}
	challenge, err := a.probe(ctx)
	if err != nil {
		return err
	}
	cr := credentialsRequest{challenge: challenge, login: true, extraScopes: extraScopes}
	return a.acquire(ctx, cr)
}

// Credentials returns the credentials in use. ok is false if there are none.
func (a *Authorizer) Credentials() (c Credentials, ok bool) {
	if current := a.current(); current != nil {
		return *current, true
	}
	return Credentials{}, false
}

// current returns the credentials in use, nil if there are none. The first call loads them from the
// Store.
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
		if !a.storeRead { // otherwise they were set meanwhile
			a.storeRead, a.credentials = true, stored
		}
		a.storeReading = nil
		close(reading)
	}
	return a.credentials
}

// findStored returns the newest credentials in the Store that belong to this client and satisfy
// accept, nil if there are none.
func (a *Authorizer) findStored(accept func(*Credentials) bool) *Credentials {
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
		if accept(&c) && (newest == nil || c.Saved.After(newest.Saved)) {
			newest = &c
		}
	}
	return newest
}

// matchesClient reports whether c was obtained with the configured grant and issuer, by the
// configured client or, if none is configured, by one registered dynamically.
func (a *Authorizer) matchesClient(c *Credentials) bool {
	switch {
	case a.options.Grant != nil && a.options.Grant.grantType() != c.Grant,
		a.options.Issuer != "" && a.options.Issuer != c.Issuer:
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

// setCredentials replaces the credentials in use.
func (a *Authorizer) setCredentials(c *Credentials) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.credentials, a.storeRead = c, true
	if !c.withoutGrant {
		a.lastFailure = nil
	}
}

// setSaved makes c the newest credentials: it sets c.Saved to a time later than the Saved of old
// and of all credentials in the Store for the server. The clock alone does not ensure that: on
// Windows it can stand still for 16 ms, and it can be set back.
func (a *Authorizer) setSaved(c, old *Credentials) {
	var before []Credentials
	if a.options.Store != nil {
		before, _ = a.options.Store.Find(a.endpointText) // findStored logs the error
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

// save writes credentials to the Store.
func (a *Authorizer) save(c *Credentials) {
	if a.options.Store == nil {
		return
	}
	if err := a.options.Store.Put(*c); err != nil {
		a.options.Logger.Warn("credentials cannot be saved: they last until the program ends",
			slog.Any("error", err))
	}
}
