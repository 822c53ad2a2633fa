package auth

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Wrap returns a transport that authorizes what base sends: the Wrap of streamable.Options. Requests to another origin than the server's, and those that have
// an Authorization of their own, are left alone.
//
// A request that is refused with 401, or with 403 for want of a scope, is sent again when there are other credentials; that the server refuses credentials
// which were obtained for this very request is final, and so is a third 403. A refusal about which nothing can be done is returned as it is. The error of an
// attempt to do something is an [*Error].
func (a *Authorizer) Wrap(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{a, base}
}

type transport struct {
	a    *Authorizer
	base http.RoundTripper
}

// CloseIdleConnections closes those of what was wrapped.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := t.a
	if req.Header.Get("Authorization") != "" || !sameOrigin(req.URL, a.endpoint) {
		return t.base.RoundTrip(req)
	}
	ctx := a.traceAddress(req.Context())
	w := retrier{a: a, req: req}
	for tries := 0; ; tries++ {
		c, err := a.requestCredentials(req.Context())
		var out *http.Request
		if err == nil {
			out, err = w.authorize(ctx, c, tries)
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
		again, err := w.shouldRetry(resp, c)
		if !again && err == nil {
			return resp, nil
		}
		discard(resp)
		if err != nil {
			return nil, err
		}
	}
}

// discard ends an answer that nobody wants, so that the connection can be used again if that is soon.
func discard(resp *http.Response) {
	const most, soon = 64 << 10, time.Second
	late := time.AfterFunc(soon, func() { _ = resp.Body.Close() })
	_, _ = io.CopyN(io.Discard, resp.Body, most)
	late.Stop()
	_ = resp.Body.Close()
}

// A want is a request that is to succeed, and what has been done for it.
type retrier struct {
	a                   *Authorizer
	req                 *http.Request
	obtained            *Credentials // that were obtained for it
	unauthorizedRetries int
	stepUps             int
	nonceRetries        int
	nonce               string // in the last proof
}

const (
	maxUnauthorizedRetries = 3 // times that a request is sent again after 401, by which time others have obtained what was refused
	maxStepUps             = 2
	maxNonceRetries        = 2
)

// authorize makes the request to be sent.
func (w *retrier) authorize(ctx context.Context, c *Credentials, tries int) (*http.Request, error) {
	out := w.req.Clone(ctx)
	if tries > 0 && w.req.Body != nil {
		body, err := w.req.GetBody()
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
		w.nonce = w.a.dpopNonce(out.URL)
		proof, err := w.a.dpopProof(c.signer, out.Method, out.URL, c.AccessToken, w.nonce)
		if err != nil {
			return nil, newError(StepAssertion, "", err)
		}
		out.Header[headerDPoP] = []string{proof}
	}
	return out, nil
}

// shouldRetry says whether the request is to be sent again. The error is why it is not, if that is another one than the answer.
func (w *retrier) shouldRetry(resp *http.Response, c *Credentials) (again bool, err error) {
	a := w.a
	a.saveNonce(w.req.URL, resp.Header)
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || w.req.Body != nil && w.req.GetBody == nil {
		return false, nil
	}
	p := credentialsRequest{challenge: parseChallenge(resp.Header), rejected: c, revision: w.req.Header.Get(mcp.HeaderProtocolVersion)}
	if resp.StatusCode == http.StatusForbidden {
		return w.retryForbidden(p)
	}
	switch {
	case p.challenge.otherSchemes:
		return false, nil
	case p.challenge.errorCode == "use_dpop_nonce": // the token is good, so that another would not help
		w.nonceRetries++
		return w.nonceRetries <= maxNonceRetries && a.dpopNonce(w.req.URL) != w.nonce, nil
	case c != nil && c == w.obtained && !c.withoutGrant:
		a.rememberFailure(errorf(StepResource, a.endpointText, "the server refuses the token that was just obtained for it"))
		return false, nil
	case w.unauthorizedRetries == maxUnauthorizedRetries:
		return false, nil
	}
	w.unauthorizedRetries++
	p.skipRefresh = c != nil && c == w.obtained
	return w.acquire(p)
}

// retryForbidden is about a token that is good, but not for this (2026-07-28, Authorization, "Step-Up Authorization Flow"). Scopes that have been asked for already
// would not be granted the next time either.
func (w *retrier) retryForbidden(p credentialsRequest) (again bool, err error) {
	if p.challenge.errorCode != "insufficient_scope" || p.rejected == nil || w.stepUps == maxStepUps || containsAll(p.rejected.Scopes, p.challenge.scopes) {
		return false, nil
	}
	w.stepUps++
	p.stepUp = true
	return w.acquire(p)
}

func (w *retrier) acquire(p credentialsRequest) (again bool, err error) {
	before := p.rejected
	switch err := w.a.acquire(w.req.Context(), p); {
	case errors.Is(err, errNoToken):
		return false, nil
	case err != nil:
		return false, err
	}
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	if w.a.credentials == before {
		return false, nil
	}
	w.obtained = w.a.credentials
	return true, nil
}

// challenge are what a challenge says about the token that is wanted.
type challenge struct {
	resourceMetadataURL string   // the URL of the resource's metadata
	scopes              []string // nil if it does not say
	errorCode           string   // "error"
	dpopRequired        bool     // only a token of that type
	otherSchemes        bool     // there are challenges, and none of them is about tokens
}

// parseChallenge reads the challenges of an answer. What is none is skipped: a server may have written anything there.
func parseChallenge(h http.Header) challenge {
	all, _ := oauth.ParseChallenges(h.Values("WWW-Authenticate"))
	w := challenge{otherSchemes: len(all) > 0}
	var found *oauth.Challenge
	for i, c := range all {
		if !c.Is(bearer) && !c.Is(dpop) {
			continue
		}
		w.otherSchemes = false
		switch {
		case found == nil:
			found, w.dpopRequired = &all[i], c.Is(dpop)
		case c.Is(bearer): // both will do: which of them tells more?
			w.dpopRequired = false
			if found.Get("resource_metadata") == "" {
				found = &all[i]
			}
		case c.Is(dpop) && c.Get("error") != "" && found.Get("error") == "":
			found, w.dpopRequired = &all[i], false
		default:
			w.dpopRequired = w.dpopRequired && c.Is(dpop)
		}
	}
	if found != nil {
		w.resourceMetadataURL, w.scopes, w.errorCode = found.Get("resource_metadata"), parseScopes(found.Get("scope")), strings.ToLower(found.Get("error"))
	}
	return w
}

// requestCredentials returns the credentials for a request, nil if there are none. Those that have expired are renewed if that needs nobody.
func (a *Authorizer) requestCredentials(ctx context.Context) (*Credentials, error) {
	c := a.current()
	if c == nil || !c.expired(time.Now()) || c.RefreshToken == "" && !a.isUnattended() {
		return c, nil
	}
	if a.isAddressUnknown() {
		if _, err := a.probe(ctx); err != nil {
			return c, nil // the request will fare no better, and say so
		}
	}
	if err := a.acquire(ctx, credentialsRequest{rejected: c, unattended: true}); err != nil && !errors.Is(err, errNoToken) {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.credentials, c), nil
}

// probe sends a request without a token, to hear what the server wants.
func (a *Authorizer) probe(ctx context.Context) (challenge, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(a.traceAddress(ctx), allowPrivateKey{}, true), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.endpointText, nil)
	if err != nil {
		return challenge{}, newError(StepResource, a.endpointText, err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := a.httpClient.Do(req)
	if err != nil {
		return challenge{}, newError(StepResource, a.endpointText, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return parseChallenge(resp.Header), nil
	}
	return challenge{}, nil
}
