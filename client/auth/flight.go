package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// A problem is why other credentials are needed.
type credentialsRequest struct {
	challenge   challenge
	rejected    *Credentials // nil if there were none
	revision    string       // of the protocol, that the request named; "" if none
	unattended  bool         // they have only expired: nobody is to be asked
	skipRefresh bool         // renewing them has not helped
	stepUp      bool         // they are good for less than is needed
	login       bool         // somebody wants to log in
	extraScopes []string     // scopes that they want besides
}

// errNoToken is the answer to a problem about which nothing can be done here.
var errNoToken = errors.New("auth: there is no way to a token")

// errNoWaiters is why an attempt was given up.
var errNoWaiters = errors.New("nobody waits for it any more")

// A flight is an attempt to solve a problem. There is one at a time, and everybody who has a problem meanwhile waits for it: what it brings may do for them as well.
type acquisition struct {
	login   bool // somebody wants to log in
	done    chan struct{}
	err     error // when done
	waiters int
	cancel  context.CancelCauseFunc
}

const (
	// failureCooldown is for how long it is not tried again what a person had a part in and has failed, as otherwise every request would open another page.
	failureCooldown = 30 * time.Second
	// acquisitionTimeout is the most that an attempt may take in which nobody has a part.
	acquisitionTimeout = 2 * time.Minute
)

// acquire has other credentials put in the place of those that were refused, or returns at once if that has happened already. It returns when ctx ends; the attempt ends
// when nobody waits for it.
func (a *Authorizer) acquire(ctx context.Context, p credentialsRequest) error {
	a.current() // has read the Store
	a.mu.Lock()
	for p.login && a.inFlight != nil && !a.inFlight.login { // which may bring what nobody has agreed to anew
		f := a.inFlight
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
		a.lastFailure, p.rejected = nil, a.credentials
	case a.credentials != p.rejected:
		a.mu.Unlock()
		return nil
	}
	f := a.inFlight
	if f == nil {
		own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		f = &acquisition{login: p.login, done: make(chan struct{}), cancel: cancel}
		a.inFlight = f
		go a.runAcquisition(own, f, p)
	}
	f.waiters++
	a.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if f.waiters--; f.waiters == 0 {
			f.cancel(errNoWaiters)
		}
		return context.Cause(ctx)
	}
}

// runAcquisition makes the attempt. It ends when the grant and the requests do, all of which have deadlines, or soon after nobody waits any more.
func (a *Authorizer) runAcquisition(ctx context.Context, f *acquisition, p credentialsRequest) {
	if a.options.Grant == nil || a.isUnattended() {
		limited, cancel := context.WithTimeout(ctx, acquisitionTimeout)
		defer cancel()
		ctx = limited
	}
	c, err := a.obtainWithRecover(ctx, p)
	if err == nil {
		a.setCredentials(c)
	}
	a.mu.Lock()
	a.inFlight = nil
	a.mu.Unlock()
	f.err = err
	f.cancel(nil)
	close(f.done)
}

// obtainWithRecover is obtain, whose functions of the application's may panic.
func (a *Authorizer) obtainWithRecover(ctx context.Context, p credentialsRequest) (c *Credentials, err error) {
	if failure := contain.Run(func() { c, err = a.obtain(ctx, p) }); failure != nil {
		a.options.Logger.Error("a function that authorization needs has panicked",
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return nil, errorf(StepAssertion, "", "a function of the application has panicked, see the log")
	}
	return c, err
}

// rememberFailure has later attempts fail for a while.
func (a *Authorizer) rememberFailure(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastFailure, a.failureExpires = err, time.Now().Add(failureCooldown)
}

// recentFailure returns why an attempt is not made yet.
func (a *Authorizer) recentFailure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastFailure != nil && time.Now().Before(a.failureExpires) {
		return a.lastFailure
	}
	return nil
}

// obtain gets other credentials, in the way that costs least: those that another program has obtained meanwhile, those that a refresh token is good for, new ones.
func (a *Authorizer) obtain(ctx context.Context, p credentialsRequest) (*Credentials, error) {
	old := p.rejected
	if !p.login {
		fits := func(c *Credentials) bool {
			return (old == nil || c.Saved.After(old.Saved)) && !c.expired(time.Now()) && (!p.stepUp || containsAll(c.Scopes, p.challenge.scopes))
		}
		if c := a.findStored(fits); c != nil {
			c.withoutGrant = true
			return c, nil
		}
	}
	refreshable := old != nil && old.RefreshToken != "" && !p.skipRefresh && !p.stepUp && !p.login
	if !refreshable && (a.options.Grant == nil || p.unattended && !a.isUnattended()) {
		return nil, errNoToken
	}
	if err := a.recentFailure(); err != nil && !refreshable && !p.login {
		return nil, err
	}
	if err := checkURL(origin(a.endpoint)); err != nil {
		return nil, newError(StepResource, a.endpointText, err)
	}
	s, err := a.discover(ctx, p)
	if err != nil {
		return nil, err
	}
	if refreshable && old.Issuer == s.authServer.Issuer && old.Resource == s.resource {
		c, err := a.renew(ctx, s, old)
		switch {
		case err != nil:
			return nil, err
		case c.RefreshToken != "" || c.AccessToken != old.AccessToken, p.unattended && !a.isUnattended():
			return c, nil
		}
		old = c // which has been told to be of no use
		a.setCredentials(c)
	}
	if a.options.Grant == nil {
		return nil, errNoToken
	}
	c, err := a.options.Grant.obtain(ctx, a.newTokenRequest(s, p, old))
	if err == nil {
		a.setSaved(c, old)
		a.save(c)
	}
	return c, err
}

// renew gets a new token for a refresh token, which may be good only once: two that use it look like a thief to the authorization server (OAuth 2.1, section
// 4.3.1). So others that use the Store are kept out meanwhile, and what they have brought is looked at first. If the refresh token is of no use, it returns the
// credentials without it.
func (a *Authorizer) renew(ctx context.Context, s *metadata, old *Credentials) (*Credentials, error) {
	if a.options.Store != nil {
		unlock, err := a.options.Store.Lock(ctx, old.Key)
		switch {
		case err == nil:
			defer unlock()
		case ctx.Err() != nil:
			return nil, newError(StepRefresh, s.authServer.TokenEndpoint, context.Cause(ctx))
		default:
			a.options.Logger.Warn("credentials cannot be locked: another program may renew them at the same time", slog.Any("error", err))
		}
		if newer := a.findStored(func(c *Credentials) bool { return c.Key == old.Key && c.Saved.After(old.Saved) }); newer != nil {
			if newer.withoutGrant = true; !newer.expired(time.Now()) || newer.RefreshToken == "" {
				return newer, nil
			}
			old = newer
		}
	}
	c, err := a.requestRefresh(ctx, s, old)
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
		a.setSaved(c, old)
	}
	if err == nil {
		a.save(c)
	}
	return c, err
}
