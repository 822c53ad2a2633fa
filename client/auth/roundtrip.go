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
	ctx := a.noticing(req.Context())
	w := want{a: a, req: req}
	for tries := 0; ; tries++ {
		c, err := a.ready(req.Context())
		var out *http.Request
		if err == nil {
			out, err = w.prepare(ctx, c, tries)
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
		again, err := w.answered(resp, c)
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
type want struct {
	a        *Authorizer
	req      *http.Request
	fresh    *Credentials // that were obtained for it
	renewals int
	stepUps  int
	nonces   int
	nonce    string // in the last proof
}

const (
	maxRenewals = 3 // times that a request is sent again after 401, by which time others have obtained what was refused
	maxStepUps  = 2
	maxNonces   = 2
)

// prepare makes the request to be sent.
func (w *want) prepare(ctx context.Context, c *Credentials, tries int) (*http.Request, error) {
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
		w.nonce = w.a.nonce(out.URL)
		proof, err := w.a.proof(c.signer, out.Method, out.URL, c.AccessToken, w.nonce)
		if err != nil {
			return nil, failed(StepAssertion, "", err)
		}
		out.Header[headerDPoP] = []string{proof}
	}
	return out, nil
}

// answered says whether the request is to be sent again. The error is why it is not, if that is another one than the answer.
func (w *want) answered(resp *http.Response, c *Credentials) (again bool, err error) {
	a := w.a
	a.learn(w.req.URL, resp.Header)
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || w.req.Body != nil && w.req.GetBody == nil {
		return false, nil
	}
	p := problem{wants: wantsOf(resp.Header), refused: c, revision: w.req.Header.Get(mcp.HeaderProtocolVersion)}
	if resp.StatusCode == http.StatusForbidden {
		return w.forbidden(p)
	}
	switch {
	case p.wants.foreign:
		return false, nil
	case p.wants.code == "use_dpop_nonce": // the token is good, so that another would not help
		w.nonces++
		return w.nonces <= maxNonces && a.nonce(w.req.URL) != w.nonce, nil
	case c != nil && c == w.fresh && !c.renewed:
		a.fail(failedf(StepResource, a.text, "the server refuses the token that was just obtained for it"))
		return false, nil
	case w.renewals == maxRenewals:
		return false, nil
	}
	w.renewals++
	p.full = c != nil && c == w.fresh
	return w.solve(p)
}

// forbidden is about a token that is good, but not for this (2026-07-28, Authorization, "Step-Up Authorization Flow"). Scopes that have been asked for already
// would not be granted the next time either.
func (w *want) forbidden(p problem) (again bool, err error) {
	if p.wants.code != "insufficient_scope" || p.refused == nil || w.stepUps == maxStepUps || has(p.refused.Scopes, p.wants.scopes) {
		return false, nil
	}
	w.stepUps++
	p.stepUp = true
	return w.solve(p)
}

func (w *want) solve(p problem) (again bool, err error) {
	before := p.refused
	switch err := w.a.solve(w.req.Context(), p); {
	case errors.Is(err, errUnsolved):
		return false, nil
	case err != nil:
		return false, err
	}
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	if w.a.held == before {
		return false, nil
	}
	w.fresh = w.a.held
	return true, nil
}

// wants are what a challenge says about the token that is wanted.
type wants struct {
	metadata string   // the URL of the resource's metadata
	scopes   []string // nil if it does not say
	code     string   // "error"
	dpop     bool     // only a token of that type
	foreign  bool     // there are challenges, and none of them is about tokens
}

// wantsOf reads the challenges of an answer. What is none is skipped: a server may have written anything there.
func wantsOf(h http.Header) wants {
	all, _ := oauth.ParseChallenges(h.Values("WWW-Authenticate"))
	w := wants{foreign: len(all) > 0}
	var found *oauth.Challenge
	for i, c := range all {
		if !c.Is(bearer) && !c.Is(dpop) {
			continue
		}
		w.foreign = false
		switch {
		case found == nil:
			found, w.dpop = &all[i], c.Is(dpop)
		case c.Is(bearer): // both will do: which of them tells more?
			w.dpop = false
			if found.Get("resource_metadata") == "" {
				found = &all[i]
			}
		case c.Is(dpop) && c.Get("error") != "" && found.Get("error") == "":
			found, w.dpop = &all[i], false
		default:
			w.dpop = w.dpop && c.Is(dpop)
		}
	}
	if found != nil {
		w.metadata, w.scopes, w.code = found.Get("resource_metadata"), scopesOf(found.Get("scope")), strings.ToLower(found.Get("error"))
	}
	return w
}

// ready returns the credentials for a request, nil if there are none. Those that have expired are renewed if that needs nobody.
func (a *Authorizer) ready(ctx context.Context) (*Credentials, error) {
	c := a.current()
	if c == nil || !c.expired(time.Now()) || c.RefreshToken == "" && !a.alone() {
		return c, nil
	}
	if a.isAnywhere() {
		if _, err := a.ask(ctx); err != nil {
			return c, nil // the request will fare no better, and say so
		}
	}
	if err := a.solve(ctx, problem{refused: c, quiet: true}); err != nil && !errors.Is(err, errUnsolved) {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.held, c), nil
}

// ask sends a request without a token, to hear what the server wants.
func (a *Authorizer) ask(ctx context.Context) (wants, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(a.noticing(ctx), anywhereKey{}, true), requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.text, nil)
	if err != nil {
		return wants{}, failed(StepResource, a.text, err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := a.http.Do(req)
	if err != nil {
		return wants{}, failed(StepResource, a.text, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return wantsOf(resp.Header), nil
	}
	return wants{}, nil
}
