package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/httpurl"
)

// errNoUser means that a connection for a user is made without one, which is not expected.
var errNoUser = errors.New("the user of the connection is not known")

// Wrap returns the wrapper of the requests to the server at e.URL on a user's connection. latest
// returns the user as he was at his latest request. secure is the configuration of TLS for
// authorization servers; nil is the default.
func Wrap(e *config.Endpoint, latest func() *User, secure *tls.Config, log *slog.Logger) (
	func(http.RoundTripper) http.RoundTripper, error) {
	c := e.Credentials
	client := auth.Registration{ClientID: c.ClientID, Secret: c.ClientSecret,
		AuthMethod: c.ClientAuth}
	options := auth.Options{Name: "stdwire", Eager: true, Scopes: strings.Fields(c.Scope),
		TLS: secure, Logger: log}
	switch c.Type {
	case config.CredentialHeader:
		endpoint, err := url.Parse(e.URL)
		if err != nil {
			return nil, errors.New("its URL is invalid") // a url.Error could show secrets
		}
		return func(base http.RoundTripper) http.RoundTripper {
			return &headers{base, endpoint, latest}
		}, nil
	case config.CredentialExchange:
		if c.ClientKey != "" {
			if err := setKey(&client, c); err != nil {
				return nil, fmt.Errorf("credentials.clientKey: %w", err)
			}
		}
		// The user of the gateway has named the token endpoint, wherever it is.
		options.AllowPrivate = true
		options.Grant = auth.TokenExchange{TokenEndpoint: c.TokenEndpoint, Client: client,
			Audiences: c.Audience, Resources: c.Resource, SubjectType: c.SubjectTokenType,
			RequestedType: c.RequestedTokenType, ActorToken: c.ActorToken,
			ActorType: c.ActorTokenType,
			Subject: func(context.Context) (string, time.Time, error) {
				if u := latest(); u != nil {
					return u.subject, u.expires, nil
				}
				return "", time.Time{}, errNoUser
			}}
	default: // config.CredentialIDJAG, which has OAuth
		options.Issuer, options.AllowPrivate = e.OAuth.Issuer, e.OAuth.AllowPrivate
		options.Clients = []auth.Registration{{Issuer: e.OAuth.Issuer, ClientID: e.OAuth.ClientID,
			Secret: e.OAuth.ClientSecret}}
		options.Grant = auth.IdentityAssertion{TokenEndpoint: c.TokenEndpoint, Client: client,
			TokenType: c.SubjectTokenType,
			Token: func(context.Context) (string, error) {
				if u := latest(); u != nil {
					return u.subject, nil
				}
				return "", errNoUser
			}}
	}
	a, err := options.New(e.URL)
	if err != nil {
		return nil, err
	}
	return a.Wrap, nil
}

// A headers adds the headers of a user to the requests to one origin.
type headers struct {
	base     http.RoundTripper
	endpoint *url.URL
	latest   func() *User
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (h *headers) CloseIdleConnections() {
	if base, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	u := h.latest()
	if u == nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errNoUser
	}
	if !httpurl.SameOrigin(req.URL, h.endpoint) { // a redirect
		return h.base.RoundTrip(req)
	}
	out := req.Clone(req.Context())
	for name, value := range u.header {
		out.Header.Set(name, value)
	}
	response, err := h.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 400 {
		if err := u.redact(response); err != nil {
			return nil, err
		}
	}
	return response, nil
}

const maxErrorBody = 64 << 10 // bytes of a response that says why a request has failed

// redact replaces the values of the user in the body of an error response, which logs and statuses
// quote.
func (u *User) redact(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	for _, value := range u.header {
		body = bytes.ReplaceAll(body, []byte(value), []byte("…"))
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return nil
}
