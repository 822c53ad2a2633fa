package target

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/httpurl"
)

// NoLoginReason returns the reason why nobody can log in to a server, or "" if a login is possible.
func NoLoginReason(e *config.Endpoint) string {
	switch {
	case e.URL == "":
		return "it has a command and no URL: there is nothing to log in to"
	case e.OAuth != nil && e.OAuth.Disabled:
		return "the configuration says that the server uses no OAuth (\"oauth\": false)"
	case HasAuthorization(e.Headers):
		return "the configuration has an Authorization header for it, which is used in place of all else"
	}
	return ""
}

// Login obtains credentials for the server at e.URL from a user, and stores them. name is the
// server's name in messages. The error is a [command.Failure] or the error of ctx.
func Login(ctx context.Context, name string, e *config.Endpoint, grant auth.AuthorizationCode,
	scopes ...string) (auth.Credentials, error) {
	if e.OAuth != nil {
		grant.RedirectURL = e.OAuth.RedirectURI
		scopes = append(strings.Fields(e.OAuth.Scope), scopes...)
	}
	a, err := Authorizer(e, grant)
	if err != nil {
		return auth.Credentials{}, &command.Failure{Code: "config", Server: name, Why: err.Error()}
	}
	if err := a.Login(ctx, scopes...); err != nil {
		return auth.Credentials{}, loginFailure(ctx, name, e, err)
	}
	c, _ := a.Credentials()
	if err := storageError(c); err != nil {
		return c, &command.Failure{Code: "config", Server: name,
			Why: "the credentials could not be stored for other commands: " + err.Error()}
	}
	return c, nil
}

// storageError returns an error unless the credentials have been stored.
func storageError(c auth.Credentials) error {
	store, err := OpenCredentials()
	if err != nil {
		return err
	}
	all, err := store.Find(c.Endpoint)
	if slices.ContainsFunc(all,
		func(k auth.Credentials) bool { return k.AccessToken == c.AccessToken }) {
		return nil
	}
	return cmp.Or(err, errors.New("they are not in "+store.Dir))
}

// loginFailure returns the failure of a login.
func loginFailure(ctx context.Context, name string, endpoint *config.Endpoint, err error) error {
	f := &command.Failure{Code: "auth_required", Server: name, Why: err.Error()}
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case ctx.Err() != nil:
		return err
	case IsError[*auth.IssuerError](err):
		f.Hint = `if you trust that issuer, name it in the server's definition: "oauth": {"issuer": …}`
	case ok && e.Step == auth.StepRegistration && endpoint.OAuth == nil:
		f.Hint = `if it knows stdwire by a client id, that belongs into the configuration: "oauth": {"clientId": …}`
	case ok && e.Step == auth.StepResource && e.Status == 0:
		f.Code = "unreachable"
	}
	return f
}

// Logout deletes the stored credentials for the server at e.URL, and then revokes them. If the
// authorization server does not revoke them, unrevoked says why. If err is not nil, it is a
// [command.Failure], and the credentials have not been deleted.
func Logout(ctx context.Context, name string, e *config.Endpoint) (unrevoked, err error) {
	a, err := Authorizer(e, nil)
	if err != nil {
		return nil, &command.Failure{Code: "config", Server: name, Why: err.Error()}
	}
	err = a.Logout(ctx)
	store, storeErr := OpenCredentials()
	if storeErr != nil {
		return nil, storeErr
	}
	if left, _ := store.Find(e.URL); len(left) > 0 {
		return nil, &command.Failure{Code: "config", Server: name,
			Why: "the credentials could not be deleted: " +
				cmp.Or(err, errors.New("there are new ones")).Error()}
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return e, nil
	}
	return nil, nil
}

// A CredentialStatus describes the stored credentials for a server, without the tokens.
type CredentialStatus struct {
	Server  string    `json:"server"` // the URL, without user, password, query and fragment
	State   string    `json:"state"`  // valid, renewable, expired
	Issuer  string    `json:"issuer"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires,omitzero"`
}

// NewCredentialStatus returns the status of credentials at a time.
func NewCredentialStatus(c auth.Credentials, now time.Time) CredentialStatus {
	h := CredentialStatus{State: "valid", Issuer: c.Issuer, Scopes: c.Scopes, Expires: c.Expires}
	if h.Server = httpurl.PublicText(c.Endpoint); c.Granted != "" {
		h.Scopes = strings.Fields(c.Granted)
	}
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		if h.State = "expired"; c.RefreshToken != "" {
			h.State = "renewable"
		}
	}
	if h.Scopes == nil {
		h.Scopes = []string{}
	}
	return h
}
