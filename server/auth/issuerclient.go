package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/internal/oauth"
)

const fetchTimeout = 5 * time.Second // for one document or response

// An issuerClient sends requests to an authorization server.
type issuerClient struct{ client http.Client }

// newIssuerClient returns a client that follows no redirects, because only the configured address
// is trusted.
func newIssuerClient(client *http.Client) *issuerClient {
	c := &issuerClient{http.Client{Transport: keepalive.Transport()}}
	if client != nil {
		c.client = *client
	}
	c.client.CheckRedirect = func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}
	c.client.Jar = nil
	return c
}

// get returns a document of at most limit bytes.
func (c *issuerClient) get(ctx context.Context, address string, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return c.do(r, limit)
}

// do sends a request and returns the body of a response with status 200.
func (c *issuerClient) do(r *http.Request, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), fetchTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Set("Accept", "application/json")
	answer, err := c.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which is added below
		}
		return nil, fmt.Errorf("%s: %w", httpurl.Public(r.URL), err)
	}
	defer answer.Body.Close()
	switch status := answer.StatusCode; {
	case status >= 300 && status < 400:
		return nil, fmt.Errorf(
			"%s: redirect with status %d: configure the target URL if it is trusted",
			httpurl.Public(r.URL), status)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%s: status %d", httpurl.Public(r.URL), status)
	}
	var body bytes.Buffer
	n, err := io.Copy(&body, io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", httpurl.Public(r.URL), err)
	case n > limit:
		return nil, fmt.Errorf("%s: the response has more than %d bytes", httpurl.Public(r.URL), limit)
	}
	return jsonscan.TrimBOM(body.Bytes()), nil
}

// discover returns the metadata of an authorization server, from the first of its well-known URLs
// that has it (RFC 8414, section 3, and OpenID Connect Discovery 1.0, section 4).
func (c *issuerClient) discover(ctx context.Context, issuer string) (*oauth.ServerMetadata, error) {
	places, err := oauth.ServerMetadataURLs(issuer)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, place := range places {
		m, err := c.metadata(ctx, place, issuer)
		if err == nil {
			return m, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (c *issuerClient) metadata(ctx context.Context, place, issuer string) (*oauth.ServerMetadata,
	error) {
	text, err := c.get(ctx, place, oauth.MaxDocument)
	if err != nil {
		return nil, err
	}
	m, err := oauth.ParseServerMetadata(text)
	if err == nil && m.Issuer != issuer {
		err = errors.New("the metadata names another issuer") // RFC 8414, section 3.3
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return m, nil
}
