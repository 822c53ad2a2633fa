package login

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/oauth"
)

// A refusals notices that a server refuses a user's token, after the authorizer has done what it
// can without him.
type refusals struct {
	http.RoundTripper
	l       *Logins
	account *account
}

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (r *refusals) CloseIdleConnections() {
	if base, ok := r.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (r *refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		// without GetBody, the authorizer could not try another token
		tried := req.Body == nil || req.GetBody != nil
		if token := sentToken(resp); token != "" && tried && refusesToken(resp.Header) {
			r.l.drop(r.account, token)
		}
	case http.StatusForbidden:
		r.l.demand(r.account.key, demandedScopes(resp.Header))
	}
	return resp, nil
}

// refusalOf reports whether a call failed because its server wants a login, or the scopes that it
// returns. The server has then not performed it. Another cause does not count, whatever else the
// server has demanded of the user meanwhile.
func refusalOf(err error) (scopes []string, refused bool) {
	if errors.Is(err, errNoLogin) {
		return nil, true
	}
	answer, ok := errors.AsType[*streamable.StatusError](err)
	if !ok || answer.Method != http.MethodPost { // a GET asks for the result of a call
		return nil, false
	}
	switch answer.Status {
	case http.StatusUnauthorized:
		return nil, refusesToken(answer.Header)
	case http.StatusForbidden:
		scopes = demandedScopes(answer.Header)
	}
	return scopes, scopes != nil
}

// sentToken returns the token of the request that a response is for. The authorizer may have
// another one meanwhile.
func sentToken(resp *http.Response) string {
	if resp.Request == nil {
		return ""
	}
	_, token, _ := strings.Cut(resp.Request.Header.Get("Authorization"), " ")
	return token
}

// refusesToken reports whether a response with status 401 is about the token, and not that of a
// proxy which wants a password, or a demand for another proof with the same token. One that does
// not say what it is about counts as well.
func refusesToken(h http.Header) bool {
	challenges, _ := oauth.ParseChallenges(h.Values("WWW-Authenticate"))
	return len(challenges) == 0 || slices.ContainsFunc(challenges, func(c oauth.Challenge) bool {
		return (c.Is("Bearer") || c.Is("DPoP")) &&
			!strings.EqualFold(c.Get("error"), "use_dpop_nonce")
	})
}

// demandedScopes returns the scopes that a response with status 403 says the token lacks.
func demandedScopes(h http.Header) (scopes []string) {
	challenges, _ := oauth.ParseChallenges(h.Values("WWW-Authenticate"))
	for _, c := range challenges {
		if strings.EqualFold(c.Get("error"), "insufficient_scope") {
			for _, scope := range strings.Fields(c.Get("scope")) {
				if len(scopes) < maxScopes && !slices.Contains(scopes, scope) {
					scopes = append(scopes, scope)
				}
			}
		}
	}
	return scopes
}

// drop deletes a login if it still has an access token, or cannot be opened.
func (l *Logins) drop(a *account, token string) {
	if err := a.drop(token); err != nil {
		l.log.Warn("the login of a user that cannot be used cannot be deleted",
			slog.String("server", a.key.Server), slog.Any("error", err))
	}
}
