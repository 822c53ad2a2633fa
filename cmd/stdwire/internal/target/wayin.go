package target

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// wayIn is the hint for who was not let in by the server.
func (t *Target) wayIn(err error) string {
	login := LoginTo(t.Selected.ID, t.Remote.URL)
	var o config.OAuth
	if e := t.Selected.Endpoint; e != nil && e.OAuth != nil {
		o = *e.OAuth
	}
	refused, ok := errors.AsType[*streamable.StatusError](err)
	switch {
	case t.ownAuthorization():
		return "what it was given as Authorization is not good, or not good enough: " + sayWho
	case o.Off:
		return "the configuration says that it wants no OAuth (\"oauth\": false): give it a header there"
	case o.ForItself:
		return "look at its \"oauth\" in the configuration, which has the client that it is to know"
	case Is[*auth.Error](err):
		return "log in again: " + login
	case !ok:
		return sayWho
	}
	challenges, _ := oauth.ParseChallenges(refused.Header.Values("WWW-Authenticate")) // a broken one says nothing
	for _, c := range challenges {
		if scope := c.Get("scope"); refused.Status == http.StatusForbidden && c.Get("error") == "insufficient_scope" && scope != "" && len(scope) < term.Width {
			return "log in for more: " + login + " --scope " + shellwords.Quote(scope)
		}
	}
	for _, c := range challenges {
		if refused.Status == http.StatusUnauthorized && (c.Is("Bearer") || c.Is("DPoP")) {
			return "log in: " + login + "; or, if you have a token, --header Authorization:@FILE, with in the file: Bearer TOKEN"
		}
	}
	return sayWho
}

// SayLogin adds to an error of the connection to a server behind a gateway how somebody can log in there, if that may be what is wrong: whoever reads it is not
// at the command line.
func SayLogin(id string, err error) error {
	if refused, ok := errors.AsType[*streamable.StatusError](err); Is[*auth.Error](err) || ok && refused.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w (log in: %s)", err, LoginTo(id, ""))
	}
	return err
}

// LoginTo is the command with which somebody logs in to a server, by its id or its URL.
func LoginTo(id, url string) string {
	if id == "" {
		shown, whole := PublicURL(url)
		if !whole {
			return "stdwire auth login URL, with the same URL"
		}
		id = shown
	}
	return "stdwire auth login " + shellwords.Quote(id)
}

// ownAuthorization says whether the server gets an Authorization that was written down for it, beside which none is obtained.
func (t *Target) ownAuthorization() bool {
	if t.Remote.Header.Get("Authorization") != "" {
		return true
	}
	return t.Selected.Endpoint != nil && HasAuthorization(t.Selected.Endpoint.Headers)
}

func HasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}
