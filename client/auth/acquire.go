package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// A credentialsRequest says why new credentials are needed.
type credentialsRequest struct {
	challenge   challenge
	rejected    *Credentials // the credentials to replace; nil if there were none
	revision    string       // MCP-Protocol-Version of the refused request; "" if it had none
	unattended  bool         // only to replace expired credentials, without the user
	skipRefresh bool         // refreshed credentials were refused, too
	stepUp      bool         // the token lacks scopes
	login       bool         // called by Login
	extraScopes []string     // passed to Login
}

// errNoToken means that no token can be obtained, and the server's refusal stands.
var errNoToken = errors.New("auth: no token can be obtained")

// errNoWaiters is the cause when an acquisition is canceled.
var errNoWaiters = errors.New("all requests that needed the token were canceled")

// An acquisition obtains new credentials. At most one is in flight; other requests that need
// credentials wait for its result, because it may serve them as well.
type acquisition struct {
	login      bool // started by Login
	unattended bool // without the user
	done       chan struct{}
	err        error // valid once done is closed
	waiters    int   // 0: all have given up, or it is a Logout
	cancel     context.CancelCauseFunc
}

// serves reports whether a request may share the result. Only Login always asks the user, and an
// acquisition that must not ask him may fail where another one succeeds.
func (acq *acquisition) serves(cr credentialsRequest) bool {
	return acq.waiters > 0 && (acq.login || !cr.login) && (!acq.unattended || cr.unattended)
}

const (
	// failureCooldown is how long an error that involved the user is returned again before the user
	// is asked again. Without it, each request would open another page.
	failureCooldown = 30 * time.Second
	// acquisitionTimeout limits an acquisition that does not involve the user.
	acquisitionTimeout = 2 * time.Minute
)

// acquire replaces the rejected credentials, and returns at once if they have already been
// replaced. It joins the acquisition in flight, or starts one after its end. When ctx ends, acquire
// returns its cause; the acquisition is canceled when the last waiting request gives up.
func (a *Authorizer) acquire(ctx context.Context, cr credentialsRequest) error {
	a.current() // loads the Store
	a.mu.Lock()
	for (cr.login || a.credentials == cr.rejected) && a.inFlight != nil && !a.inFlight.serves(cr) {
		acq := a.inFlight
		a.mu.Unlock()
		select {
		case <-acq.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		a.mu.Lock()
	}
	switch {
	case cr.login:
		a.lastFailure, cr.rejected = nil, a.credentials
	case a.credentials != cr.rejected:
		a.mu.Unlock()
		return nil
	}
	acq := a.inFlight
	if acq == nil {
		own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		acq = &acquisition{login: cr.login, unattended: cr.unattended && !a.isUnattended(),
			done: make(chan struct{}), cancel: cancel}
		a.inFlight = acq
		go a.runAcquisition(own, acq, cr)
	}
	acq.waiters++
	a.mu.Unlock()
	select {
	case <-acq.done:
		return acq.err
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if acq.waiters--; acq.waiters == 0 {
			acq.cancel(errNoWaiters)
		}
		return context.Cause(ctx)
	}
}

// runAcquisition runs one acquisition. It ends with the grant and its requests, all of which have
// deadlines, or soon after its last waiter has given up.
func (a *Authorizer) runAcquisition(ctx context.Context, acq *acquisition, cr credentialsRequest) {
	if a.options.Grant == nil || a.isUnattended() {
		limited, cancel := context.WithTimeout(ctx, acquisitionTimeout)
		defer cancel()
		ctx = limited
	}
	c, err := a.obtainWithRecover(ctx, cr)
	if err == nil {
		a.setCredentials(c)
		if context.Cause(ctx) == errLoggedOut { // Logout deletes and revokes them
			err = newError(StepToken, a.endpointText, errLoggedOut)
		}
	}
	err = cr.challenge.explain(err)
	a.mu.Lock()
	a.inFlight = nil
	a.mu.Unlock()
	acq.err = err
	acq.cancel(nil)
	close(acq.done)
}

// obtainWithRecover calls obtain, and turns a panic in a callback of the application into an error.
func (a *Authorizer) obtainWithRecover(
	ctx context.Context, cr credentialsRequest,
) (c *Credentials, err error) {
	if failure := contain.Run(func() { c, err = a.obtain(ctx, cr) }); failure != nil {
		a.options.Logger.Error("a callback of the application panicked during authorization",
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return nil, errorf(StepAssertion, "", "a callback of the application panicked, see the log")
	}
	return c, err
}

// rememberFailure makes acquisitions fail with err for [failureCooldown].
func (a *Authorizer) rememberFailure(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastFailure, a.failureExpires = err, time.Now().Add(failureCooldown)
}

// recentFailure returns the error that rememberFailure recorded within [failureCooldown].
func (a *Authorizer) recentFailure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastFailure != nil && time.Now().Before(a.failureExpires) {
		return a.lastFailure
	}
	return nil
}

// obtain returns new credentials from the cheapest source: the Store, if another program has saved
// newer ones; a refresh token; the grant.
func (a *Authorizer) obtain(ctx context.Context, cr credentialsRequest) (*Credentials, error) {
	old := cr.rejected
	if !cr.login {
		isNewer := func(c *Credentials) bool {
			return (old == nil || c.Saved.After(old.Saved)) && !c.expired(time.Now()) &&
				(!cr.stepUp || containsAll(c.Scopes, cr.challenge.scopes))
		}
		if c := a.findStored(isNewer); c != nil {
			c.withoutGrant = true
			return c, nil
		}
	}
	refreshable := old != nil && old.RefreshToken != "" &&
		!cr.skipRefresh && !cr.stepUp && !cr.login
	if !refreshable && (a.options.Grant == nil || cr.unattended && !a.isUnattended()) {
		return nil, errNoToken
	}
	if err := a.recentFailure(); err != nil && !refreshable && !cr.login {
		return nil, err
	}
	if err := checkURL(origin(a.endpoint)); err != nil {
		return nil, newError(StepResource, a.endpointText, err)
	}
	m := a.exchangeMetadata()
	var err error
	if m == nil {
		m, err = a.discover(ctx, cr, refreshable)
	}
	if err != nil {
		return nil, err
	}
	if refreshable && old.Issuer == m.authServer.Issuer && old.Resource == m.resource {
		c, err := a.refresh(ctx, m, old)
		switch {
		case err != nil:
			return nil, err
		case c.RefreshToken != "" || c.AccessToken != old.AccessToken,
			cr.unattended && !a.isUnattended():
			return c, nil
		}
		old = c // without the refresh token, which the server has refused
		a.setCredentials(c)
	}
	// A refresh token that is refused, or for another server or resource, leaves only the grant.
	recent := a.recentFailure()
	switch {
	case a.options.Grant == nil, cr.unattended && !a.isUnattended():
		return nil, errNoToken
	case m.unsupported != nil:
		return nil, m.unsupported
	case recent != nil && !cr.login:
		return nil, recent
	}
	c, err := a.options.Grant.obtain(ctx, a.newTokenRequest(m, cr, old))
	if err == nil {
		a.setSaved(c, old)
		a.save(c)
	}
	return c, err
}

// refresh obtains a new token with the refresh token. An authorization server may accept a refresh
// token only once and take a second use for theft (OAuth 2.1, section 4.3.1). So refresh holds the
// Store's lock, and first looks for credentials that another program has saved meanwhile. If the
// server refuses the refresh token, refresh returns the credentials without it.
func (a *Authorizer) refresh(
	ctx context.Context, m *metadata, old *Credentials,
) (*Credentials, error) {
	if a.options.Store != nil {
		unlock, err := a.options.Store.Lock(ctx, old.Key)
		switch {
		case err == nil:
			defer unlock()
		case ctx.Err() != nil:
			return nil, newError(StepRefresh, m.authServer.TokenEndpoint, context.Cause(ctx))
		default:
			a.options.Logger.Warn(
				"credentials cannot be locked: another program may refresh them, too",
				slog.Any("error", err))
		}
		isNewer := func(c *Credentials) bool { return c.Key == old.Key && c.Saved.After(old.Saved) }
		if newer := a.findStored(isNewer); newer != nil {
			if newer.withoutGrant = true; !newer.expired(time.Now()) || newer.RefreshToken == "" {
				return newer, nil
			}
			old = newer
		}
	}
	c, err := a.requestRefresh(ctx, m, old)
	if e, ok := errors.AsType[*Error](err); ok {
		spent := *old
		spent.RefreshToken = ""
		switch {
		case e.Code == "invalid_grant":
		case e.Code == "invalid_client" && old.Client == "":
			// The server has deleted a dynamic registration.
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
