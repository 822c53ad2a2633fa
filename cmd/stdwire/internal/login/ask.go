package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	serverauth "github.com/stdwire/stdwire/server/auth"
)

const (
	// questionKey is the key of the question to log in.
	questionKey = "stdwire/login"
	// maxWait is how long a call waits for a user who has agreed to open a link. It is less than
	// the time after which many clients give up.
	maxWait = 50 * time.Second
)

// Calls is an interceptor of a gateway: before a call of a server to which users log in, and after
// one that the server has refused for want of a login or of scopes, it asks the user to log in.
// Only a call that was refused for that is made again.
func (l *Logins) Calls(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		s, k := l.server(i.Server), keyOf(ctx, i.Server)
		if s == nil || i.InFlight || k.User == "" { // the gateway refuses who has no name
			return next(ctx, i)
		}
		has, err := l.store.has(ctx, k)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return refuse(i, err.Error(), nil)
		case !has:
			if why, err := l.ask(ctx, k, nil); why != "" || err != nil {
				return refuse(i, why, err)
			}
		}
		result, err := next(ctx, i)
		if err == nil || ctx.Err() != nil || errors.Is(err, server.ErrAsked) {
			return result, err
		}
		scopes, refused := refusalOf(err)
		if !refused {
			return result, err
		}
		has, unknown := l.store.has(ctx, k)
		if unknown != nil || scopes == nil && has { // a login would not help
			return result, err
		}
		if why, err := l.ask(ctx, k, scopes); why != "" || err != nil {
			return refuse(i, why, err)
		}
		return next(ctx, i)
	}
}

// Login implements gateway.Upstream.Login, for a user who uses a tool before his lists are known.
func (s *Server) Login(ctx context.Context) func(context.Context, mcp.Kind, string) (
	json.RawMessage, error) {
	k := keyOf(ctx, s.id)
	needed, scopes := s.l.needs(ctx, k)
	if !needed {
		return nil
	}
	return func(ctx context.Context, kind mcp.Kind, _ string) (json.RawMessage, error) {
		why, err := s.l.ask(ctx, k, scopes)
		switch {
		case why == "" || err != nil:
			return nil, err
		case kind != mcp.KindTool:
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", why)
		}
		return toolError(why)
	}
}

// ask asks the user to log in, and waits until he has. why says why he has not, or what is left for
// him to do; "": he has. The error is that of a client that is being asked.
func (l *Logins) ask(ctx context.Context, k Key, scopes []string) (why string, err error) {
	var link *link
	if _, err = l.store.has(ctx, k); err == nil { // or else what he is granted cannot be stored
		link, err = l.link(ctx, k, clientOf(ctx), scopes)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return err.Error(), nil
	}
	url := l.urlOf(link)
	why = fmt.Sprintf("%q needs you to log in", k.Server)
	if scopes != nil {
		why = fmt.Sprintf("%q needs more permissions of you", k.Server)
	}
	answer, err := server.Elicit(ctx, questionKey, mcp.ElicitParams{Mode: mcp.ElicitURL,
		Message: why + ". This page of the gateway asks for your consent first.", URL: url})
	switch {
	case errors.Is(err, server.ErrNoRequest), errors.Is(err, server.ErrUnsupported):
		return fmt.Sprintf("%s: open this link in a browser, then try again. "+
			"It is for you only and valid for %d minutes: %s", why, lifetime/time.Minute,
			url), nil
	case err != nil:
		return "", err
	case answer.Action != mcp.ElicitAccept:
		_ = l.decline(ctx, link) // or else it expires
		return why + ", and the user did not want to", nil
	}
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	failure, err := l.await(limited, link)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, errClosed):
		failure = err.Error()
	case err != nil:
		return fmt.Sprintf("the login to %q is not finished: "+
			"finish it in the browser, then try again: %s", k.Server, url), nil
	}
	if failure != "" {
		return fmt.Sprintf("the login to %q has failed: %s: try again", k.Server, failure), nil
	}
	return "", nil
}

// decline ends a link whose user does not want to log in.
func (l *Logins) decline(ctx context.Context, k *link) error {
	return l.store.editLink(ctx, k, func(now *link) error {
		now.end(errDeclined)
		return nil
	})
}

// refuse returns what a call is refused with.
func refuse(i *dispatch.Invocation, why string, err error) (dispatch.Result, error) {
	switch {
	case err != nil:
		return nil, err
	case i.Kind != string(mcp.KindTool):
		return nil, errors.New(why)
	}
	result, err := toolError(why)
	if err != nil {
		return nil, err
	}
	return server.NewResult(result), nil
}

// toolError returns a text as the result of a tool: models do not see that of an error.
func toolError(text string) (json.RawMessage, error) {
	return mcp.Marshal(&mcp.CallToolResult{IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: text}}})
}

// clientOf describes the client of a request for its user. Its name is what it says of itself.
func clientOf(ctx context.Context) string {
	c := server.ClientFrom(ctx)
	text := printable.Line(c.Name)
	if c.Version != "" {
		text += " " + printable.Line(c.Version)
	}
	if id := serverauth.IdentityFrom(ctx); id != nil && id.ClientID != "" {
		text += " (client ID " + printable.Line(id.ClientID) + ")"
	}
	if text == "" {
		return "a client without a name"
	}
	return text
}

var errNoServer = errors.New("this gateway does not have the server")

// login logs a user in, with a browser that an attempt sends to the authorization server.
func (l *Logins) login(ctx context.Context, k *link, a *attempt) error {
	s, key := l.server(k.Server), k.key()
	if s == nil {
		return errNoServer
	}
	e, secure, err := s.endpoint()
	if err != nil {
		return err
	}
	o := s.options(e, secure)
	account := &account{s: l.store, key: key, create: true,
		wanted: func(ctx context.Context) error {
			return l.store.editLink(ctx, k, func(now *link) error {
				if now.Attempt != a.id {
					return errAgain
				}
				return nil
			})
		}}
	o.Grant, o.Store = l.grant(k, a), account
	authorizer, err := o.New(e.URL)
	if err != nil {
		return err
	}
	// it adds the scopes of the login that this one replaces
	if err := authorizer.Login(ctx, slices.Concat(o.Scopes, k.Scopes)...); err != nil {
		return err
	}
	if account.failure != nil { // the authorizer has logged it
		has, err := l.store.has(ctx, key)
		if !has && err == nil { // or else it may be of the same grant
			if err := authorizer.Logout(ctx); err != nil {
				l.log.Warn("a login that could not be stored cannot be revoked",
					slog.String("server", key.Server), slog.Any("error", err))
			}
		}
		return errors.New("it could not be stored; the log of the gateway says why")
	}
	l.log.Info("a user has logged in", slog.String("principal", key.User),
		slog.String("server", key.Server))
	l.forgetDemand(key)
	l.reconnect(key)
	return nil
}
