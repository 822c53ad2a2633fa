package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/store"
)

const (
	// lifetime is how long a link is valid, and how long the login may take that it begins.
	lifetime = 10 * time.Minute
	// keepEnded is how long it is known why a link has ended.
	keepEnded      = time.Minute
	maxLinksOfUser = 64
	maxLinkBytes   = 64 << 20 // in memory
	maxResponse    = 16 << 10
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

// A link is a link to log in that one user has got. All links of a user are one value in the store
// of links, so that any gateway that shares it can serve them. A link is a copy of what is there.
type link struct {
	Server  string    `json:"server"`
	Client  string    `json:"client,omitempty"` // of the key
	App     string    `json:"app"`              // the client, for people
	Scopes  []string  `json:"scopes,omitempty"`
	Secret  string    `json:"secret"` // in the URL
	Until   time.Time `json:"until"`
	Browser string    `json:"browser,omitempty"` // in which somebody has agreed; "": none
	Attempt string    `json:"attempt,omitempty"` // the last one; "": none
	// State is the parameter state of the attempt's authorization request; "" if there is no
	// attempt, or the browser has come back with it.
	State string `json:"state,omitempty"`
	// Response is the query with which the browser has come back; "": it has not.
	Response string `json:"response,omitempty"`
	Ended    bool   `json:"ended,omitempty"`
	Why      string `json:"why,omitempty"` // why nobody has logged in; "": somebody has

	user string
}

func (k *link) key() Key { return Key{k.user, k.Client, k.Server} }

// end ends a link. err is why nobody has logged in, or nil.
func (k *link) end(err error) {
	k.Ended, k.State, k.Response, k.Until = true, "", "", time.Now().Add(keepEnded)
	if err != nil {
		k.Why = err.Error()
	}
}

// An attempt is the way of a browser to the authorization server and back, on this gateway.
type attempt struct {
	id       string
	cancel   context.CancelCauseFunc
	page     chan string // of the authorization server; capacity 1
	response chan string // the query with which the browser has come back; capacity 1
	done     chan struct{}
	err      error // valid when done is closed
}

func linksKey(user string) string { return "links of " + user }

// secretKey is the key of the user who has got a link. The digest does not reveal the secret.
func secretKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "link " + hex.EncodeToString(sum[:])
}

func stateKey(state string) string { return "login state " + state }

// linksOf returns the links of a user that a value has and that have not expired.
func linksOf(user string, data []byte) (all []*link, err error) {
	if data != nil {
		err = json.Unmarshal(data, &all)
	}
	now := time.Now()
	all = slices.DeleteFunc(all, func(k *link) bool { return k == nil || !now.Before(k.Until) })
	for _, k := range all {
		k.user = user
	}
	return all, err
}

// readLinks returns the links of a user.
func (s *Store) readLinks(ctx context.Context, user string) ([]*link, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	l, err := s.links.Holder(ctx, linksKey(user))
	if err != nil {
		return nil, unusable(err)
	}
	return linksOf(user, l.Data)
}

// editLinks replaces the links of a user by what edit makes of them. edit may be called again.
func (s *Store) editLinks(ctx context.Context, user string,
	edit func(all []*link) ([]*link, error)) error {
	return update(ctx, s.links, linksKey(user), func(data []byte) ([]byte, time.Duration, error) {
		all, err := linksOf(user, data)
		if err == nil {
			all, err = edit(all)
		}
		if err != nil || len(all) == 0 {
			return nil, 0, err
		}
		ttl := time.Millisecond
		for _, k := range all {
			ttl = max(ttl, time.Until(k.Until))
		}
		text, err := json.Marshal(all)
		return text, ttl, err
	})
}

// editLink changes a link unless it has ended, which is errExpired.
func (s *Store) editLink(ctx context.Context, k *link, edit func(*link) error) error {
	return s.editLinks(ctx, k.user, func(all []*link) ([]*link, error) {
		now := linkIn(all, k)
		if now == nil || now.Ended {
			return nil, errExpired
		}
		return all, edit(now)
	})
}

// linkIn returns a link as it is now, or nil if it has expired.
func linkIn(all []*link, k *link) *link {
	for _, now := range all {
		if now.Secret == k.Secret {
			return now
		}
	}
	return nil
}

// point lets a link or a state be found for its lifetime.
func (s *Store) point(ctx context.Context, key, user string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := s.links.Put(ctx, key, []byte(user), store.Always, lifetime)
	return unusable(err)
}

// pointed returns the user whose link or state it is, or "".
func (s *Store) pointed(ctx context.Context, key string) (user string, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	data, err := s.links.Get(ctx, key)
	return string(data), unusable(err)
}

// endLink ends the link for a key, if there is one.
func (s *Store) endLink(ctx context.Context, k Key, why error) error {
	return s.editLinks(ctx, k.User, func(all []*link) ([]*link, error) {
		for _, l := range all {
			if l.key() == k && !l.Ended {
				l.end(why)
			}
		}
		return all, nil
	})
}

// link returns the link of a user for these scopes, which is the same until it is used or expires.
// A new one is also for the scopes of the one that it replaces, or two calls that lack different
// scopes would end the links of each other again and again.
func (l *Logins) link(ctx context.Context, k Key, client string, scopes []string) (*link, error) {
	l.mu.Lock()
	base := l.base
	l.mu.Unlock()
	if l.ctx.Err() != nil {
		return nil, errClosed
	}
	if base == "" {
		return nil, fmt.Errorf("%q needs each user to log in, and this gateway does not know its own https: URL: "+
			"whoever runs it adds --public-url URL", k.Server)
	}
	var found *link
	err := l.store.editLinks(ctx, k.User, func(all []*link) ([]*link, error) {
		made := &link{Server: k.Server, Client: k.Client, App: client, Scopes: scopes,
			Secret: rand.Text() + rand.Text(), Until: time.Now().Add(lifetime), user: k.User}
		valid := 0
		for _, old := range all {
			switch {
			case old.Ended:
				continue
			case old.key() != k:
				valid++
				continue
			}
			if !slices.ContainsFunc(scopes, func(scope string) bool {
				return !slices.Contains(old.Scopes, scope)
			}) {
				found = old
				return all, nil
			}
			made.Scopes = union(scopes, old.Scopes)
			old.end(errors.New("it asks for other permissions now"))
		}
		if valid >= maxLinksOfUser {
			return nil, errors.New("too many logins have begun and are not finished: try again in 10 minutes")
		}
		if len(all) >= 2*maxLinksOfUser {
			all = slices.DeleteFunc(all, func(old *link) bool { return old.Ended })
		}
		found = made
		return append(all, made), nil
	})
	if err == nil { // also for a link whose maker has not come so far
		err = l.store.point(ctx, secretKey(found.Secret), k.User)
	}
	return found, err
}

// urlOf returns the URL of a link.
func (l *Logins) urlOf(k *link) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + startPath + k.Secret
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

// find returns the link with a secret that has not ended, or nil.
func (l *Logins) find(ctx context.Context, secret string) (*link, error) {
	user, err := l.store.pointed(ctx, secretKey(secret))
	if user == "" {
		return nil, err
	}
	all, err := l.store.readLinks(ctx, user)
	k := linkIn(all, &link{Secret: secret})
	if k != nil && k.Ended {
		k = nil
	}
	return k, err
}

// await waits until a link has ended, and returns why nobody has logged in.
func (l *Logins) await(ctx context.Context, k *link) (why string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(errClosed) })()
	for {
		all, err := l.store.readLinks(ctx, k.user)
		now := linkIn(all, k)
		switch {
		case err != nil: // the store may come back
		case now == nil:
			return errExpired.Error(), nil
		case now.Ended:
			return now.Why, nil
		}
		if !wait(ctx, pollInterval) {
			return "", context.Cause(ctx)
		}
	}
}

// begin starts a login in a browser, and returns the page of the authorization server. The link
// then belongs to the browser; it may begin again, which ends the attempt before.
func (l *Logins) begin(ctx context.Context, k *link, browser string) (page string, err error) {
	own, cancel := context.WithCancelCause(l.ctx)
	a := &attempt{id: rand.Text(), cancel: cancel, page: make(chan string, 1),
		response: make(chan string, 1), done: make(chan struct{})}
	err = l.store.editLink(ctx, k, func(now *link) error {
		if now.Browser != "" && now.Browser != browser {
			return errTaken
		}
		now.Browser, now.Attempt, now.State, now.Response = browser, a.id, "", ""
		now.Until = time.Now().Add(lifetime)
		return nil
	})
	if err == nil {
		err = l.store.point(ctx, secretKey(k.Secret), k.user)
	}
	if err == nil && !l.start(own, k, a) {
		err = errClosed
	}
	if err != nil {
		cancel(err)
		return "", err
	}
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

// start runs an attempt, and ends the one that this gateway has run for the link. It reports false
// after Close.
func (l *Logins) start(ctx context.Context, k *link, a *attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	if before := l.attempts[k.Secret]; before != nil {
		before.cancel(errAgain)
	}
	l.attempts[k.Secret] = a
	l.wg.Go(func() { l.run(ctx, k, a) })
	l.wg.Go(func() { l.watch(ctx, k, a) })
	return true
}

var errAgain = errors.New("it was begun again")

// run makes an attempt, with which the link ends unless it was begun again.
func (l *Logins) run(ctx context.Context, k *link, a *attempt) {
	err := l.login(ctx, k, a)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	a.cancel(err)
	_ = l.store.persist(func(ctx context.Context) error { // or else it expires
		return l.store.editLink(ctx, k, func(now *link) error {
			switch {
			case now.Attempt != a.id:
			case errors.Is(err, errClosed): // another gateway can begin again
				now.Attempt, now.State, now.Response = "", "", ""
			default:
				now.end(err)
			}
			return nil
		})
	})
	l.mu.Lock()
	if l.attempts[k.Secret] == a {
		delete(l.attempts, k.Secret)
	}
	l.mu.Unlock()
	a.err = err
	close(a.done)
}

// watch passes on the response of the browser, wherever it arrives, and ends an attempt that does
// not count any more, until the attempt has ended.
func (l *Logins) watch(ctx context.Context, k *link, a *attempt) {
	for passed := false; wait(ctx, pollInterval); {
		all, err := l.store.readLinks(ctx, k.user)
		if err != nil {
			continue // the store may come back
		}
		now := linkIn(all, k)
		switch {
		case now == nil:
			a.cancel(errExpired)
		case now.Ended:
			a.cancel(errors.New("the link is valid no more"))
		case now.Attempt != a.id:
			a.cancel(errAgain)
		case now.Response != "" && !passed:
			passed = true
			a.response <- now.Response
		}
	}
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
			state := u.Query().Get("state")
			err = l.store.point(ctx, stateKey(state), k.user)
			if err == nil {
				err = l.store.editLink(ctx, k, func(now *link) error {
					if now.Attempt != a.id {
						return errAgain
					}
					now.State = state
					return nil
				})
			}
			if err != nil {
				return "", err
			}
			a.page <- page
			select {
			case response := <-a.response:
				return base + callbackPath + "?" + response, nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}}
}

// resume passes the query with which a browser has come back to the gateway that waits for it, and
// waits until the user has logged in. A state counts once, and only in the browser in which it
// began: in another one, somebody would log in another user without his knowledge. why says why he
// has not logged in.
func (l *Logins) resume(ctx context.Context, query url.Values, raw, browser string) (k *link,
	why string, err error) {
	state := query.Get("state")
	if state == "" || len(raw) > maxResponse {
		return nil, "", errUnknown
	}
	user, err := l.store.pointed(ctx, stateKey(state))
	switch {
	case err != nil:
		return nil, "", err
	case user == "":
		return nil, "", errUnknown
	}
	taken := false
	err = l.store.editLinks(ctx, user, func(all []*link) ([]*link, error) {
		i := slices.IndexFunc(all, func(k *link) bool { return k.State == state && !k.Ended })
		if i < 0 {
			return nil, errUnknown
		}
		k = all[i]
		if taken = k.Browser != browser; taken {
			k.end(errTaken)
		} else {
			k.State, k.Response = "", raw
		}
		return all, nil
	})
	switch {
	case err != nil:
		return nil, "", err
	case taken:
		return nil, "", errTaken
	}
	why, err = l.await(ctx, k)
	return k, why, err
}
