package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/auth"
)

const (
	// lifetime is how long a link is valid, and how long the login may take that it begins.
	lifetime = 10 * time.Minute
	maxLinks = 4096
	// maxPage is how long a browser waits for the authorization server to be found.
	maxPage = time.Minute
)

var (
	errClosed   = errors.New("the gateway is shutting down")
	errExpired  = errors.New("it was not finished within 10 minutes")
	errDeclined = errors.New("the user did not agree")
	errTaken    = errors.New("it has begun in another browser")
	errRevoked  = errors.New("the login to this server was revoked meanwhile")
	errUnknown  = errors.New("it is finished, has expired, or did not begin here")
)

// A link is a link to log in that one user has got. l.mu of its Logins guards all but the fields
// that are set at first.
type link struct {
	server *Server
	key    Key
	client string // for people
	scopes []string
	secret string // the digest of what is in the URL
	url    string
	done   chan struct{} // closed at the end
	err    error         // why nobody has logged in; valid when done is closed

	timer   *time.Timer
	browser string   // the browser in which somebody has agreed; "": none
	attempt *attempt // the last one; nil: none
}

// An attempt is the way of a browser to the authorization server and back.
type attempt struct {
	cancel   context.CancelCauseFunc
	page     chan string // of the authorization server; capacity 1
	response chan string // the URL to which the browser has come back; capacity 1
	state    string      // guarded by l.mu; "": none, or used
	done     chan struct{}
	err      error // valid when done is closed
}

func secretOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// link returns the link of a user for these scopes, which is the same until it is used or expires.
// A new one is also for the scopes of the one that it replaces, or two calls that lack different
// scopes would end the links of each other again and again.
func (l *Logins) link(s *Server, k Key, client string, scopes []string) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, errClosed
	}
	if old := l.byKey[k]; old != nil {
		if !slices.ContainsFunc(scopes, func(scope string) bool {
			return !slices.Contains(old.scopes, scope)
		}) && old.server == s {
			return old, nil
		}
		scopes = union(scopes, old.scopes)
		l.finish(old, errors.New("it asks for other permissions now"))
	}
	if l.base == "" {
		return nil, fmt.Errorf("%q needs each user to log in, and this gateway does not know its own https: URL: "+
			"whoever runs it adds --public-url URL", k.Server)
	}
	if err := l.quota.Take(k.User, 1); err != nil {
		return nil, errors.New("too many logins have begun and are not finished: try again in 10 minutes")
	}
	secret := rand.Text() + rand.Text()
	made := &link{server: s, key: k, client: client, scopes: scopes, secret: secretOf(secret),
		url: l.base + startPath + secret, done: make(chan struct{})}
	l.byKey[k], l.bySecret[made.secret] = made, made
	l.expire(made)
	return made, nil
}

// union returns the scopes, and those of before while there is room.
func union(scopes, before []string) []string {
	all := slices.Clone(scopes)
	for _, scope := range before {
		if len(all) < maxScopes && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// expire ends a link when its lifetime is over, from now. l.mu is held.
func (l *Logins) expire(k *link) {
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer = time.AfterFunc(lifetime, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.finish(k, errExpired)
	})
}

// finish ends a link, once. l.mu is held.
func (l *Logins) finish(k *link, err error) {
	if l.bySecret[k.secret] != k {
		return
	}
	delete(l.bySecret, k.secret)
	if l.byKey[k.key] == k {
		delete(l.byKey, k.key)
	}
	k.timer.Stop()
	l.quota.Give(k.key.User, 1)
	if k.attempt != nil {
		l.end(k.attempt, errors.New("the link is valid no more"))
	}
	k.err = err
	close(k.done)
}

// end ends an attempt. l.mu is held.
func (l *Logins) end(a *attempt, cause error) {
	if a.state != "" {
		delete(l.byState, a.state)
		a.state = ""
	}
	a.cancel(cause)
}

// decline ends a link whose user does not want to log in.
func (l *Logins) decline(k *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(k, errDeclined)
}

// revoke ends the link of a user whose login somebody revokes: he must not get it back by what has
// begun before.
func (l *Logins) revoke(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if begun := l.byKey[k]; begun != nil {
		l.finish(begun, errRevoked)
	}
}

// find returns the link with a secret, or nil.
func (l *Logins) find(secret string) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bySecret[secretOf(secret)]
}

// begin starts a login in a browser, and returns the page of the authorization server. The link
// then belongs to the browser; it may begin again, which ends the attempt before.
func (l *Logins) begin(ctx context.Context, k *link, browser string) (page string, err error) {
	l.mu.Lock()
	switch {
	case l.bySecret[k.secret] != k:
		l.mu.Unlock()
		return "", errExpired
	case k.browser != "" && k.browser != browser:
		l.mu.Unlock()
		return "", errTaken
	}
	if k.attempt != nil {
		l.end(k.attempt, errors.New("it was begun again"))
	}
	k.browser = browser
	l.expire(k)
	own, cancel := context.WithCancelCause(l.ctx)
	a := &attempt{cancel: cancel, page: make(chan string, 1), response: make(chan string, 1),
		done: make(chan struct{})}
	k.attempt = a
	l.wg.Go(func() { l.run(own, k, a) })
	l.mu.Unlock()
	limited, stop := context.WithTimeoutCause(ctx, maxPage,
		errors.New("the authorization server does not respond"))
	defer stop()
	select {
	case page = <-a.page:
		return page, nil
	case <-a.done:
		return "", a.err
	case <-limited.Done():
		return "", context.Cause(limited)
	}
}

// run makes an attempt, with which the link ends unless it was begun again.
func (l *Logins) run(ctx context.Context, k *link, a *attempt) {
	err := k.server.login(ctx, k, a)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	l.mu.Lock()
	l.end(a, err)
	if k.attempt == a {
		l.finish(k, err)
	}
	l.mu.Unlock()
	a.err = err
	close(a.done)
}

// grant returns the way in which the gateway gets a token, by a user's browser.
func (l *Logins) grant(k *link, a *attempt) auth.Grant {
	l.mu.Lock()
	base := l.base
	l.mu.Unlock()
	return auth.AuthorizationCode{RedirectURL: base + callbackPath, Timeout: lifetime,
		FetchRedirect: func(ctx context.Context, page string) (string, error) {
			u, err := url.Parse(page)
			if err != nil {
				return "", err
			}
			l.mu.Lock()
			if ctx.Err() == nil && k.attempt == a {
				a.state = u.Query().Get("state")
				l.byState[a.state] = k
			}
			l.mu.Unlock()
			a.page <- page
			select {
			case response := <-a.response:
				return response, nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}}
}

// resume ends the wait of an attempt for the browser, which has come back with a query, and waits
// until the user has logged in. A state counts once, and only in the browser in which it began: in
// another one, somebody would log in another user without his knowledge.
func (l *Logins) resume(ctx context.Context, query url.Values, raw, browser string) (*link,
	error) {
	l.mu.Lock()
	k := l.byState[query.Get("state")]
	if k == nil || query.Get("state") == "" {
		l.mu.Unlock()
		return nil, errUnknown
	}
	a := k.attempt
	delete(l.byState, a.state)
	a.state = ""
	if k.browser != browser {
		l.finish(k, errTaken)
		l.mu.Unlock()
		return nil, errTaken
	}
	base := l.base
	l.mu.Unlock()
	a.response <- base + callbackPath + "?" + raw
	select {
	case <-a.done:
		return k, a.err
	case <-ctx.Done():
		return k, context.Cause(ctx)
	}
}
