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
)

const (
	requestTimeout = 30 * time.Second // that a request to an authorization server may take
	maxResponse    = 256 << 10        // bytes
	maxRedirects   = 3
)

// An answer is one of an authorization server, read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (a *response) ok() bool { return a.status/100 == 2 }

// newHTTPClient returns what makes the requests. Redirects lead to the same origin only, and what has secrets or proofs in it is not redirected at all: it was meant
// for one address.
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
			return fmt.Errorf("it redirects to %s, which is not followed", redactURL(req.URL.String()))
		case !sameOrigin(req.URL, first.URL):
			return fmt.Errorf("it redirects to %s, which is another server, and is not followed", redactURL(req.URL.String()))
		case len(via) > maxRedirects:
			return errors.New("it redirects too many times")
		}
		return checkURL(req.URL.String())
	}
	return own
}

// get asks for a document.
func (a *Authorizer) get(ctx context.Context, step Step, where string, header http.Header) (*response, error) {
	return a.request(ctx, step, http.MethodGet, where, header, nil)
}

// postForm sends a form, whose answer is JSON.
func (a *Authorizer) postForm(ctx context.Context, step Step, where string, header http.Header, form url.Values) (*response, error) {
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.request(ctx, step, http.MethodPost, where, header, strings.NewReader(form.Encode()))
}

// request makes a request. A POST goes on for its time when ctx ends: if the server has done what it says, the answer must not be lost.
func (a *Authorizer) request(ctx context.Context, step Step, method, where string, header http.Header, body io.Reader) (*response, error) {
	if err := checkURL(where); err != nil {
		return nil, newError(step, where, err)
	}
	if ctx.Err() != nil {
		return nil, newError(step, where, context.Cause(ctx))
	}
	if method == http.MethodPost {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return nil, newError(step, where, err)
	}
	req.Header = header
	req.Header.Set("Accept", "application/json")
	resp, err := a.httpClient.Do(req)
	if err != nil {
		return nil, newError(step, where, a.timeoutError(ctx, err))
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	n, err := io.CopyN(&text, resp.Body, maxResponse+1)
	switch {
	case n > maxResponse:
		return nil, errorf(step, where, "it answers with more than %d bytes", maxResponse)
	case err != io.EOF:
		return nil, newError(step, where, a.timeoutError(ctx, err))
	}
	a.saveNonce(resp.Request.URL, resp.Header)
	return &response{resp.StatusCode, resp.Header, text.Bytes()}, nil
}

func (a *Authorizer) timeoutError(ctx context.Context, err error) error {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return fmt.Errorf("no answer within %v: %w", requestTimeout, context.DeadlineExceeded)
	}
	return err
}
