// Package login lets each user of a gateway log in to the servers behind it, and calls them with
// what their authorization servers have granted to him.
//
// A call of a server by a user without a login asks him to open a link ([Logins.Calls]). The link
// leads to a page of the gateway ([Logins.Handler]), which says what he is about to permit, and on
// to the authorization server, which sends the browser back. The grant is in a [Store], and the
// user's own connection to the server uses and renews it ([Server.Wrap]). Nothing of what a user
// sends to the gateway reaches the server, and no other credential is ever used in place of his.
//
// # The same user
//
// Clients authenticate with tokens, which a browser does not have. So the secret of a link, which
// only the session of the user gets, is what shows that its opener is that user. It is good for ten
// minutes and for the first browser in which somebody agrees: a cookie binds the login to it, so
// that the authorization server's answer counts in no other one. A browser in which a user has
// logged in once opens no links of other users. What remains is that somebody persuades another
// person, in whose browser nobody has logged in yet, to open his link and to agree. The page names
// the user of the gateway who would get the access, and says to close it if one has not asked for
// it.
package login

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httpurl"
	serverauth "github.com/stdwire/stdwire/server/auth"
)

// Logins are the users' logins to the servers of a gateway. They are safe for concurrent use.
type Logins struct {
	store  *Store
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	base     string // the URL of the gateway without a path; "": unknown
	gateway  *gateway.Gateway
	servers  map[string]*Server
	missing  map[Key][]string    // scopes that a server has demanded
	attempts map[string]*attempt // that this process runs, by the secret of the link
	revoking int                 // logins that are being revoked in the background
}

// New returns logins that are kept in a store. Close them.
func New(store *Store, log *slog.Logger) *Logins {
	l := &Logins{store: store, log: log, servers: map[string]*Server{},
		missing: map[Key][]string{}, attempts: map[string]*attempt{}}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	store.orphaned = l.revokeOrphaned
	return l
}

// CheckBase returns an error unless a URL can be that of [Logins.SetBase].
func CheckBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		!httpurl.IsSecure(u) {
		return errors.New("want an https: URL, or an http: URL of this machine, without a query")
	}
	return nil
}

// SetBase sets the URL at which browsers reach the gateway, without the path of [Logins.Handler].
// Until then nobody can log in.
func (l *Logins) SetBase(base string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.base = strings.TrimSuffix(base, "/")
}

// Start ends the connections of users whose logins end or are revoked, also by another process, in
// a gateway, until Close. The lists of those who log in are fetched.
func (l *Logins) Start(g *gateway.Gateway) {
	m := g.Manager()
	l.mu.Lock()
	l.gateway = g
	l.mu.Unlock()
	l.wg.Go(func() {
		l.store.Follow(l.ctx, l.InUse, func(k Key) {
			l.forgetDemand(k)
			l.wg.Go(func() { l.reconnect(k) })
		}, func(k Key, revoked bool) {
			l.forget(k, revoked)
			// a connection that does not end at once must not keep those of others
			l.wg.Go(func() { m.EndSession(k.session()) })
		}, func(err error) {
			meanwhile := "the last ones stay in use"
			if l.store.shared != nil {
				meanwhile = "they cannot be used"
			}
			l.log.Warn("the logins of users cannot be read", slog.String("meanwhile", meanwhile),
				slog.Any("error", err))
		})
	})
}

// forget forgets what belongs to a login that has ended.
func (l *Logins) forget(k Key, revoked bool) {
	l.log.Info("the login of a user has ended", slog.String("principal", k.User),
		slog.String("server", k.Server))
	if revoked && l.store.shared == nil { // or else whoever revokes does it
		_ = l.store.endLink(l.ctx, k, errRevoked)
	}
	l.forgetDemand(k)
}

// Close ends all that is in progress, and waits for it.
func (l *Logins) Close() {
	l.mu.Lock()
	l.cancel(errClosed)
	l.mu.Unlock()
	l.store.close()
	l.wg.Wait()
}

// A Server is a server to which users log in.
type Server struct {
	l        *Logins
	id       string
	endpoint func() (*config.Endpoint, *tls.Config, error)
}

// Server adds or replaces a server. endpoint returns it as it is configured, without a user in its
// URL, and the configuration of TLS for its authorization server, nil for the default.
func (l *Logins) Server(id string,
	endpoint func() (*config.Endpoint, *tls.Config, error)) *Server {
	s := &Server{l, id, endpoint}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[id] = s
	return s
}

// Forget removes a server to which users log in no more.
func (l *Logins) Forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.servers, id)
}

func (l *Logins) server(id string) *Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.servers[id]
}

// keyOf returns the key of the request in ctx. Its User is "" if nobody knows who sends it. A
// client that the user's access token names has a login of its own, because he agrees for each.
func keyOf(ctx context.Context, id string) Key {
	k := Key{User: dispatch.PrincipalFrom(ctx), Server: id}
	if caller := serverauth.IdentityFrom(ctx); caller != nil {
		k.Client = caller.ClientID
	}
	return k
}

// session returns the name of the connection for a key.
func (k Key) session() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", k.Server, k.Client))
	return k.User + " " + hex.EncodeToString(sum[:8])
}

// User is gateway.Upstream.User. The value is the [Key] of the user.
func (s *Server) User(ctx context.Context) (name string, value any, err error) {
	k := keyOf(ctx, s.id)
	return k.session(), k, nil
}

// errNoLogin is why a user has no connection.
var errNoLogin = errors.New("this user has not logged in to it: " +
	"use one of its tools, which answers with a link to log in")

// Wrap returns the wrapper of the requests to the server on the connection of a user. It returns an
// error for a user without a login. A login that does not fit the configuration, because it is for
// another URL, client or authorization server, is deleted: none of its tokens would be used.
func (s *Server) Wrap(k Key, e *config.Endpoint, secure *tls.Config) (
	func(http.RoundTripper) http.RoundTripper, error) {
	has, err := s.l.store.has(s.l.ctx, k)
	switch {
	case err != nil:
		return nil, err
	case !has:
		return nil, errNoLogin
	}
	account := &account{s: s.l.store, key: k}
	o := s.options(e, secure)
	o.Store = account
	a, err := o.New(e.URL)
	if err != nil {
		return nil, err
	}
	stored, _ := s.l.store.find(s.l.ctx, k) // the authorizer logs the error
	if _, fits := a.Credentials(); !fits {
		if err := account.readable(); errors.Is(err, errUnusable) {
			return nil, err
		}
		token := ""
		if stored != nil {
			token = stored.AccessToken
		}
		s.l.drop(account, token)
		return nil, errNoLogin
	}
	return func(base http.RoundTripper) http.RoundTripper {
		return &refusals{a.Wrap(base), s.l, account}
	}, nil
}

// options returns the options of the gateway's client at the authorization server.
func (s *Server) options(e *config.Endpoint, secure *tls.Config) auth.Options {
	o := Options(e, secure)
	o.Logger = s.l.log
	return o
}

// Options returns the options of the client at the authorization server of a server.
func Options(e *config.Endpoint, secure *tls.Config) auth.Options {
	o := auth.Options{Name: "stdwire", TLS: secure}
	if c := e.OAuth; c != nil {
		o.Scopes, o.AllowPrivate, o.Issuer = strings.Fields(c.Scope), c.AllowPrivate, c.Issuer
		if c.ClientID != "" {
			o.Clients = []auth.Registration{
				{Issuer: c.Issuer, ClientID: c.ClientID, Secret: c.ClientSecret}}
		}
	}
	return o
}

const (
	maxDemands = 1000
	maxScopes  = 64
)

// demand remembers scopes that a server has demanded of a user, for [Server.Login]: also the
// request of his lists may need them. Of too many, any one is forgotten until it is demanded again.
func (l *Logins) demand(k Key, scopes []string) {
	if len(scopes) == 0 || len(scopes) > maxScopes {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missing[k] == nil && len(l.missing) >= maxDemands {
		for other := range l.missing {
			delete(l.missing, other)
			break
		}
	}
	l.missing[k] = union(l.missing[k], scopes)
}

// needs reports whether a user has to log in, and the scopes that were demanded of him.
// In doubt he has to: what asks him says why he cannot.
func (l *Logins) needs(ctx context.Context, k Key) (needed bool, scopes []string) {
	has, _ := l.store.has(ctx, k)
	l.mu.Lock()
	defer l.mu.Unlock()
	scopes = l.missing[k]
	return !has || scopes != nil, scopes
}

// forgetDemand forgets what was demanded of a user who has logged in, or whose login has ended.
func (l *Logins) forgetDemand(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.missing, k)
}

// reconnect lets a connection of a user that has failed be made again at once, and what he sees
// there be listed.
func (l *Logins) reconnect(k Key) {
	l.mu.Lock()
	g := l.gateway
	l.mu.Unlock()
	if g == nil {
		return
	}
	for _, s := range g.Manager().Status() {
		if s.ID == k.Server && s.Session == k.session() &&
			(s.State == host.Waiting || s.State == host.Failed) {
			g.Manager().EndSession(k.session())
			break
		}
	}
	g.Relist(k.Server, k.User, k.session(), k)
}

// InUse reports whether there is a server to which users log in.
func (l *Logins) InUse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.servers) > 0
}
