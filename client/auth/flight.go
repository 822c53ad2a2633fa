package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// A problem is why other credentials are needed.
type problem struct {
	wants    wants
	refused  *Credentials // nil if there were none
	revision string       // of the protocol, that the request named; "" if none
	quiet    bool         // they have only expired: nobody is to be asked
	full     bool         // renewing them has not helped
	stepUp   bool         // they are good for less than is needed
	login    bool         // somebody wants to log in
	more     []string     // scopes that they want besides
}

// errUnsolved is the answer to a problem about which nothing can be done here.
var errUnsolved = errors.New("auth: there is no way to a token")

// errNobody is why an attempt was given up.
var errNobody = errors.New("nobody waits for it any more")

// A flight is an attempt to solve a problem. There is one at a time, and everybody who has a problem meanwhile waits for it: what it brings may do for them as well.
type flight struct {
	login   bool // somebody wants to log in
	done    chan struct{}
	err     error // when done
	waiting int
	cancel  context.CancelCauseFunc
}

const (
	// coolDown is for how long it is not tried again what a person had a part in and has failed, as otherwise every request would open another page.
	coolDown = 30 * time.Second
	// flightTime is the most that an attempt may take in which nobody has a part.
	flightTime = 2 * time.Minute
)

// solve has other credentials put in the place of those that were refused, or returns at once if that has happened already. It returns when ctx ends; the attempt ends
// when nobody waits for it.
func (a *Authorizer) solve(ctx context.Context, p problem) error {
	a.current() // has read the Store
	a.mu.Lock()
	for p.login && a.flight != nil && !a.flight.login { // which may bring what nobody has agreed to anew
		f := a.flight
		a.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		a.mu.Lock()
	}
	switch {
	case p.login:
		a.failed, p.refused = nil, a.held
	case a.held != p.refused:
		a.mu.Unlock()
		return nil
	}
	f := a.flight
	if f == nil {
		own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		f = &flight{login: p.login, done: make(chan struct{}), cancel: cancel}
		a.flight = f
		go a.fly(own, f, p)
	}
	f.waiting++
	a.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if f.waiting--; f.waiting == 0 {
			f.cancel(errNobody)
		}
		return context.Cause(ctx)
	}
}

// fly makes the attempt. It ends when the grant and the requests do, all of which have deadlines, or soon after nobody waits any more.
func (a *Authorizer) fly(ctx context.Context, f *flight, p problem) {
	if a.o.Grant == nil || a.alone() {
		limited, cancel := context.WithTimeout(ctx, flightTime)
		defer cancel()
		ctx = limited
	}
	c, err := a.safely(ctx, p)
	if err == nil {
		a.hold(c)
	}
	a.mu.Lock()
	a.flight = nil
	a.mu.Unlock()
	f.err = err
	f.cancel(nil)
	close(f.done)
}

// safely is obtain, whose functions of the application's may panic.
func (a *Authorizer) safely(ctx context.Context, p problem) (c *Credentials, err error) {
	if failure := contain.Run(func() { c, err = a.obtain(ctx, p) }); failure != nil {
		a.o.Logger.Error("a function that authorization needs has panicked",
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return nil, failedf(StepAssertion, "", "a function of the application has panicked, see the log")
	}
	return c, err
}

// fail has later attempts fail for a while.
func (a *Authorizer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed, a.until = err, time.Now().Add(coolDown)
}

// cooling returns why an attempt is not made yet.
func (a *Authorizer) cooling() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed != nil && time.Now().Before(a.until) {
		return a.failed
	}
	return nil
}

// obtain gets other credentials, in the way that costs least: those that another program has obtained meanwhile, those that a refresh token is good for, new ones.
func (a *Authorizer) obtain(ctx context.Context, p problem) (*Credentials, error) {
	old := p.refused
	if !p.login {
		fits := func(c *Credentials) bool {
			return (old == nil || c.Saved.After(old.Saved)) && !c.expired(time.Now()) && (!p.stepUp || has(c.Scopes, p.wants.scopes))
		}
		if c := a.stored(fits); c != nil {
			c.renewed = true
			return c, nil
		}
	}
	refreshable := old != nil && old.RefreshToken != "" && !p.full && !p.stepUp && !p.login
	if !refreshable && (a.o.Grant == nil || p.quiet && !a.alone()) {
		return nil, errUnsolved
	}
	if err := a.cooling(); err != nil && !refreshable && !p.login {
		return nil, err
	}
	if err := checkURL(origin(a.endpoint)); err != nil {
		return nil, failed(StepResource, a.text, err)
	}
	s, err := a.discover(ctx, p)
	if err != nil {
		return nil, err
	}
	if refreshable && old.Issuer == s.server.Issuer && old.Resource == s.resource {
		c, err := a.renew(ctx, s, old)
		switch {
		case err != nil:
			return nil, err
		case c.RefreshToken != "" || c.AccessToken != old.AccessToken, p.quiet && !a.alone():
			return c, nil
		}
		old = c // which has been told to be of no use
		a.hold(c)
	}
	if a.o.Grant == nil {
		return nil, errUnsolved
	}
	c, err := a.o.Grant.obtain(ctx, a.newErrand(s, p, old))
	if err == nil {
		a.follow(c, old)
		a.keep(c)
	}
	return c, err
}

// renew gets a new token for a refresh token, which may be good only once: two that use it look like a thief to the authorization server (OAuth 2.1, section
// 4.3.1). So others that use the Store are kept out meanwhile, and what they have brought is looked at first. If the refresh token is of no use, it returns the
// credentials without it.
func (a *Authorizer) renew(ctx context.Context, s *site, old *Credentials) (*Credentials, error) {
	if a.o.Store != nil {
		unlock, err := a.o.Store.Lock(ctx, old.Key)
		switch {
		case err == nil:
			defer unlock()
		case ctx.Err() != nil:
			return nil, failed(StepRefresh, s.server.TokenEndpoint, context.Cause(ctx))
		default:
			a.o.Logger.Warn("credentials cannot be locked: another program may renew them at the same time", slog.Any("error", err))
		}
		if newer := a.stored(func(c *Credentials) bool { return c.Key == old.Key && c.Saved.After(old.Saved) }); newer != nil {
			if newer.renewed = true; !newer.expired(time.Now()) || newer.RefreshToken == "" {
				return newer, nil
			}
			old = newer
		}
	}
	c, err := a.refresh(ctx, s, old)
	if e, ok := errors.AsType[*Error](err); ok {
		spent := *old
		spent.RefreshToken = ""
		switch {
		case e.Code == "invalid_grant":
		case e.Code == "invalid_client" && old.Client == "": // a dynamic registration has been forgotten there
			spent.Registration = Registration{}
		default:
			return nil, err
		}
		c, err = &spent, nil
	} else if err == nil {
		a.follow(c, old)
	}
	if err == nil {
		a.keep(c)
	}
	return c, err
}
