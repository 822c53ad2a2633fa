package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

const (
	requestTimeout = 30 * time.Second // for one request to an authorization server
	maxResponse    = 256 << 10        // bytes
	maxRedirects   = 3
)

// A response is an HTTP response whose body has been read completely.
type response struct {
	status int
	body   []byte
}

func (a *response) ok() bool { return a.status/100 == 2 }

// newHTTPClient returns the client for requests to authorization servers. It follows redirects of
// GET requests within one origin; a POST carries secrets or proofs for one URL, and is not
// redirected.
func (a *Authorizer) newHTTPClient() *http.Client {
	own := a.defaultHTTPClient()
	if a.options.HTTP != nil {
		copied := *a.options.HTTP
		own = &copied
	}
	own.Jar = nil
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch first := via[0]; {
		case first.Method != http.MethodGet:
			return fmt.Errorf("redirects a POST to %s: not followed", httpurl.Public(req.URL))
		case !httpurl.SameOrigin(req.URL, first.URL):
			return fmt.Errorf("redirects to another server, %s: not followed",
				httpurl.Public(req.URL))
		case len(via) > maxRedirects:
			return errors.New("redirects too many times")
		}
		return checkURL(req.URL.String())
	}
	return own
}

// get requests a document.
func (a *Authorizer) get(ctx context.Context, step Step, target string,
	header http.Header) (*response, error) {
	return a.request(ctx, step, http.MethodGet, target, header, nil)
}

// postForm posts a form and expects JSON.
func (a *Authorizer) postForm(ctx context.Context, step Step, target string, header http.Header,
	form url.Values) (*response, error) {
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.request(ctx, step, http.MethodPost, target, header, strings.NewReader(form.Encode()))
}

// request sends a request and reads the response. A POST is not canceled when ctx ends but limited
// by requestTimeout: if the server has performed it, for example by rotating a refresh token, the
// response must not be lost.
func (a *Authorizer) request(ctx context.Context, step Step, method, target string,
	header http.Header, body io.Reader) (*response, error) {
	if err := checkURL(target); err != nil {
		return nil, newError(step, target, err)
	}
	if ctx.Err() != nil {
		return nil, newError(step, target, context.Cause(ctx))
	}
	if method == http.MethodPost {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, newError(step, target, err)
	}
	req.Header = header
	req.Header.Set("Accept", "application/json")
	resp, err := a.httpClient.Do(req)
	if err != nil {
		failed := newError(step, target, a.timeoutError(ctx, err))
		failed.unanswered = resp == nil // otherwise it is a redirect
		return nil, failed
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	n, err := io.CopyN(&text, resp.Body, maxResponse+1)
	switch {
	case n > maxResponse:
		return nil, errorf(step, target, "the response is larger than %d bytes", maxResponse)
	case err != io.EOF:
		return nil, newError(step, target, a.timeoutError(ctx, err))
	}
	a.saveNonce(resp.Request.URL, resp.Header)
	return &response{resp.StatusCode, jsonscan.TrimBOM(text.Bytes())}, nil
}

// timeoutError replaces the error of a request that took longer than requestTimeout.
func (a *Authorizer) timeoutError(ctx context.Context, err error) error {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return fmt.Errorf("no response within %v: %w", requestTimeout, context.DeadlineExceeded)
	}
	return err
}
