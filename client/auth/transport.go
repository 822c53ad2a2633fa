package auth

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Wrap returns a transport that authorizes the requests it sends with base. Pass it to
// streamable.Options.Wrap. It does not change a request that goes to another origin than the
// server's or already has an Authorization header.
//
// When the server answers 401, or 403 with insufficient_scope, the transport obtains other
// credentials and sends the request again. It returns the server's response as it is if no other
// credentials can be obtained, if the server refuses a token that was obtained for this request,
// and on the third 403. If obtaining credentials fails, the error is an [*Error].
func (a *Authorizer) Wrap(base http.RoundTripper) http.RoundTripper {
	base = cmp.Or(base, http.DefaultTransport)
	return &transport{a, base}
}

type transport struct {
	a    *Authorizer
	base http.RoundTripper
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := t.a
	if req.Header.Get("Authorization") != "" || !httpurl.SameOrigin(req.URL, a.endpoint) {
		return t.base.RoundTrip(req)
	}
	ctx := a.traceAddress(req.Context())
	r := retrier{a: a, req: req}
	for tries := 0; ; tries++ {
		c, err := a.requestCredentials(req.Context())
		var out *http.Request
		if err == nil {
			out, err = r.authorize(ctx, c, tries)
		}
		if err != nil {
			if req.Body != nil && tries == 0 {
				_ = req.Body.Close()
			}
			return nil, err
		}
		resp, err := t.base.RoundTrip(out)
		if err != nil {
			return nil, err
		}
		again, err := r.shouldRetry(resp, c)
		if !again && err == nil {
			return resp, nil
		}
		discard(resp)
		if err != nil {
			return nil, err
		}
	}
}

// discard reads the rest of a response, up to 64 KiB and 1 s, so that its connection can be reused,
// and closes it.
func discard(resp *http.Response) {
	const maxBytes, timeout = 64 << 10, time.Second
	timer := time.AfterFunc(timeout, func() { _ = resp.Body.Close() })
	_, _ = io.CopyN(io.Discard, resp.Body, maxBytes)
	timer.Stop()
	_ = resp.Body.Close()
}

// A retrier decides whether one request is sent again, and counts the reasons.
type retrier struct {
	a                   *Authorizer
	req                 *http.Request
	obtained            *Credentials // the credentials obtained for this request
	unauthorizedRetries int
	stepUps             int
	nonceRetries        int
	nonce               string // the nonce in the last DPoP proof
}

const (
	maxUnauthorizedRetries = 3 // other requests may have replaced the credentials each time
	maxStepUps             = 2
	maxNonceRetries        = 2
)

// authorize returns a copy of the request with the Authorization and DPoP headers.
func (r *retrier) authorize(ctx context.Context, c *Credentials, tries int) (*http.Request, error) {
	out := r.req.Clone(ctx)
	if tries > 0 && r.req.Body != nil {
		body, err := r.req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	if c == nil || c.AccessToken == "" {
		return out, nil
	}
	out.Header["Authorization"] = []string{c.Type + " " + c.AccessToken}
	if c.signer != nil && c.Type == dpop {
		r.nonce = r.a.dpopNonce(out.URL)
		proof, err := r.a.dpopProof(c.signer, out.Method, out.URL, c.AccessToken, r.nonce)
		if err != nil {
			return nil, newError(StepAssertion, "", err)
		}
		out.Header[headerDPoP] = []string{proof}
	}
	return out, nil
}

// shouldRetry reports whether to send the request again. If not, the caller returns err, or the
// response if err is nil.
func (r *retrier) shouldRetry(resp *http.Response, c *Credentials) (again bool, err error) {
	a := r.a
	a.saveNonce(r.req.URL, resp.Header)
	refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	repeatable := r.req.Body == nil || r.req.GetBody != nil
	if !refused || !repeatable {
		return false, nil
	}
	cr := credentialsRequest{
		challenge: parseChallenge(resp.Header), rejected: c,
		revision: r.req.Header.Get(mcp.HeaderProtocolVersion),
	}
	if resp.StatusCode == http.StatusForbidden {
		return r.retryForbidden(cr)
	}
	switch {
	case cr.challenge.otherSchemes:
		return false, nil
	case cr.challenge.errorCode == "use_dpop_nonce": // the token itself is valid
		r.nonceRetries++
		return r.nonceRetries <= maxNonceRetries && a.dpopNonce(r.req.URL) != r.nonce, nil
	case c != nil && c == r.obtained && !c.withoutGrant:
		a.rememberFailure(errorf(StepResource, a.endpointText,
			"the server refuses the token that was just obtained for it"))
		return false, nil
	case r.unauthorizedRetries == maxUnauthorizedRetries:
		return false, nil
	}
	r.unauthorizedRetries++
	cr.skipRefresh = c != nil && c == r.obtained
	return r.acquire(cr)
}

// retryForbidden handles insufficient_scope (2026-07-28, Authorization, "Step-Up Authorization
// Flow"). Scopes that were already requested are not requested again: they would not be granted
// then either.
func (r *retrier) retryForbidden(cr credentialsRequest) (again bool, err error) {
	if cr.challenge.errorCode != "insufficient_scope" || cr.rejected == nil ||
		r.stepUps == maxStepUps || containsAll(cr.rejected.Scopes, cr.challenge.scopes) {
		return false, nil
	}
	r.stepUps++
	cr.stepUp = true
	return r.acquire(cr)
}

// acquire obtains credentials and reports whether they differ from the rejected ones.
func (r *retrier) acquire(cr credentialsRequest) (again bool, err error) {
	before := cr.rejected
	switch err := r.a.acquire(r.req.Context(), cr); {
	case errors.Is(err, errNoToken):
		return false, nil
	case err != nil:
		return false, err
	}
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	if r.a.credentials == before {
		return false, nil
	}
	r.obtained = r.a.credentials
	return true, nil
}

// obtainEagerly replaces the credentials c, which may be nil, before a request.
func (a *Authorizer) obtainEagerly(ctx context.Context, c *Credentials) (*Credentials, error) {
	cr := credentialsRequest{rejected: c, unattended: true}
	if a.exchangeMetadata() == nil && a.isAddressUnknown() { // nor is its challenge known
		var err error
		if cr.challenge, err = a.probe(ctx); err != nil {
			return nil, err
		}
	}
	if err := a.acquire(ctx, cr); err != nil {
		return nil, err
	}
	return a.current(), nil
}

// requestCredentials returns the credentials for a request, nil if there are none. It replaces
// expired ones if that needs no user.
func (a *Authorizer) requestCredentials(ctx context.Context) (*Credentials, error) {
	c := a.current()
	if c == nil && a.options.Eager || c != nil && !c.renew.IsZero() && c.expired(time.Now()) {
		return a.obtainEagerly(ctx, c)
	}
	if c == nil || !c.expired(time.Now()) || c.RefreshToken == "" && !a.isUnattended() {
		return c, nil
	}
	if a.isAddressUnknown() {
		if _, err := a.probe(ctx); err != nil {
			return c, nil // the request itself will fail in the same way
		}
	}
	err := a.acquire(ctx, credentialsRequest{rejected: c, unattended: true})
	if err != nil && !errors.Is(err, errNoToken) {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.credentials, c), nil
}
