package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tokenfile"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// callers finds out who sends an HTTP request. Whoever has a name has an [auth.Identity], whose
// principal is the caller's.
type callers struct {
	tokens       []*tokenfile.Verifier
	named        *tokenfile.Verifier // the one of named tokens; nil: there is none
	resource     *auth.Resource      // accepts access tokens; nil: there are none
	certificates bool                // every client has one
	peers        bool                // without tokens: clients are users of this machine
}

// callers returns who may send requests to a listener, or nil if anybody may who can reach it, and
// nobody has a name. Close it when no requests are served any more.
func (w *HTTPFlags) callers(std *term.Streams, l *httpListener, log *slog.Logger) (*callers,
	error) {
	c := &callers{certificates: w.tls.clientCA != ""}
	if w.noAuth {
		if c.peers = l.Addr().Network() == "unix" && socket.HasPeers; c.peers {
			return c, nil
		}
		return nil, nil
	}
	var err error
	if c.tokens, err = w.token.open(log); err != nil {
		c.close()
		return nil, err
	}
	if w.token.named != "" {
		c.named = c.tokens[0]
	}
	if w.oauth.issuer != "" {
		if c.resource, err = w.oauth.resource(log); err != nil {
			c.close()
			return nil, err
		}
		std.Err.Printf("stdwire: accepting access tokens of %s, issued for %s", w.oauth.issuer,
			w.oauth.audience)
	}
	if len(c.tokens) == 0 && c.resource == nil && !c.certificates {
		c.tokens = append(c.tokens, randomToken(std))
	}
	return c, nil
}

func (c *callers) close() {
	if c != nil {
		for _, v := range c.tokens {
			v.Close()
		}
	}
}

// follow notices the end of tokens, until ctx ends.
func (c *callers) follow(ctx context.Context, spawn func(func())) {
	if c != nil {
		for _, v := range c.tokens {
			spawn(func() { v.Follow(ctx) })
		}
	}
}

// TokenPrincipal is the principal of all clients that send the token without a name.
const TokenPrincipal = tokenfile.Issuer

// authorize is for [streamable.Options].Authorize. A token with a name or an access token says who
// the caller is, even if a certificate is necessary too; one without a name leaves it to the
// certificate. What ends first of a certificate and a token ends the requests of both.
func (c *callers) authorize(r *http.Request) (streamable.Caller, error) {
	caller := streamable.Caller{Context: r.Context()}
	var id *auth.Identity
	if c.certificates {
		var err error
		if id, err = certificateIdentity(r); err != nil {
			return caller, err
		}
		caller.Expires = id.Expires
	}
	switch {
	case c.peers:
		id = peerOf(r.Context())
	case len(c.tokens) == 0 && c.resource == nil: // a certificate is enough
	default:
		found := c.find(bearerToken(r))
		if found == nil && c.resource != nil {
			byToken, err := c.resource.Authorize(r)
			byToken.Expires = earlier(byToken.Expires, caller.Expires)
			if err == nil {
				err = c.admit(&byToken)
			}
			return byToken, err
		}
		if found == nil {
			return caller, errToken
		}
		caller.Credentials = found.Ended
		if found.Identity != nil || id == nil {
			id, caller.Principal = found.Identity, found.Principal()
		}
	}
	if id != nil {
		caller.Principal, caller.Context = id.Principal(), auth.WithIdentity(r.Context(), id)
	}
	return caller, c.admit(&caller)
}

// admit returns an error if the file of tokens refuses a caller who is not known by a token, and
// makes what belongs to him end when it does.
func (c *callers) admit(caller *streamable.Caller) (err error) {
	issuer, _, _ := strings.Cut(caller.Principal, "#")
	if c.named == nil || issuer == "" || issuer == tokenfile.Issuer {
		return nil
	}
	caller.Credentials, err = c.named.Admit(caller.Principal, caller.Credentials)
	if err != nil {
		return &streamable.Refusal{Status: http.StatusForbidden, Message: err.Error()}
	}
	return nil
}

// earlier returns the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// find returns the credentials of a valid token, or nil.
func (c *callers) find(token string) *tokenfile.Credentials {
	for _, v := range c.tokens {
		if found := v.Find(token); found != nil {
			return found
		}
	}
	return nil
}

type peerKey struct{}

// withPeer returns the context of a connection, with the user at its other end. It is looked up
// when it is needed, because the accepting loop must not wait for a directory of users.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	for {
		inner, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return context.WithValue(ctx, peerKey{}, socket.Peer(conn))
		}
		conn = inner.NetConn()
	}
}

func peerOf(ctx context.Context) *auth.Identity {
	if peer, ok := ctx.Value(peerKey{}).(func() *auth.Identity); ok {
		return peer()
	}
	return nil
}

type apiCallerKey struct{}

// An apiCaller is who sends a request to the HTTP API, or why it is refused.
type apiCaller struct {
	principal string
	err       error
}

// identify returns a handler that authorizes requests of the HTTP API by authorize, as requests of
// MCP are, and passes them to next, whose Principal is [apiPrincipal].
func identify(authorize func(*http.Request) (streamable.Caller, error),
	next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := authorize(r)
		if err == nil && caller.AuthorizeMessages != nil {
			err = caller.AuthorizeMessages(nil)
		}
		ctx := r.Context()
		if err == nil && caller.Context != nil {
			ctx = caller.Context
		}
		if err == nil && caller.Credentials != nil {
			cancellable, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(caller.Credentials,
				func() { cancel(context.Cause(caller.Credentials)) })()
			ctx = cancellable
		}
		who := &apiCaller{caller.Principal, apiError(err)}
		ctx = context.WithValue(ctx, contextkey.Principal{}, who.principal)
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, apiCallerKey{}, who)))
	})
}

// apiPrincipal returns the principal that identify has found.
func apiPrincipal(r *http.Request) (string, error) {
	if who, ok := r.Context().Value(apiCallerKey{}).(*apiCaller); ok {
		return who.principal, who.err
	}
	return "", errToken
}

// apiError returns the error of an operation for an error of authorize.
func apiError(err error) error {
	refused, ok := errors.AsType[*streamable.Refusal](err)
	switch {
	case !ok:
		return err
	case refused.Status == http.StatusForbidden:
		return dispatch.Errorf(dispatch.PermissionDenied, "%s", refused.Message)
	case refused.Status == http.StatusBadRequest:
		return dispatch.Errorf(dispatch.InvalidInput, "%s", refused.Message)
	case refused.Status == 0, refused.Status == http.StatusUnauthorized:
		return errToken
	}
	return dispatch.Errorf(dispatch.UpstreamError, "%s", refused.Message)
}

// checkTokens returns an error if the flags for tokens and TLS contradict each other.
func (w *HTTPFlags) checkTokens() error {
	switch {
	case w.token.env != "" && w.token.file != "":
		return command.Usagef("--token-env and --token-file exclude each other")
	case w.noAuth && w.token.given() != "":
		return command.Usagef("--no-auth and %s exclude each other", w.token.given())
	case w.noAuth && w.tls.clientCA != "":
		return command.Usagef("--no-auth and --tls-client-ca exclude each other").WithHint(
			"clients with a certificate need no token: leave out --no-auth")
	}
	return nil
}
