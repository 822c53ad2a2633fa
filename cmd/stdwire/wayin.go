package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// wayIn is the hint for who was not let in by the server.
func (t *target) wayIn(err error) string {
	login := loginTo(t.selected.id, t.remote.url)
	var o config.OAuth
	if e := t.selected.endpoint; e != nil && e.OAuth != nil {
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
	case is[*auth.Error](err):
		return "log in again: " + login
	case !ok:
		return sayWho
	}
	challenges, _ := oauth.ParseChallenges(refused.Header.Values("WWW-Authenticate")) // a broken one says nothing
	for _, c := range challenges {
		if scope := c.Get("scope"); refused.Status == http.StatusForbidden && c.Get("error") == "insufficient_scope" && scope != "" && len(scope) < width {
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

// sayLogin adds to an error of the connection to a server behind a gateway how somebody can log in there, if that may be what is wrong: whoever reads it is not
// at the command line.
func sayLogin(id string, err error) error {
	if refused, ok := errors.AsType[*streamable.StatusError](err); is[*auth.Error](err) || ok && refused.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w (log in: %s)", err, loginTo(id, ""))
	}
	return err
}

// loginTo is the command with which somebody logs in to a server, by its id or its URL.
func loginTo(id, url string) string {
	if id == "" {
		shown, whole := publicURL(url)
		if !whole {
			return "stdwire auth login URL, with the same URL"
		}
		id = shown
	}
	return "stdwire auth login " + shellwords.Quote(id)
}

// ownAuthorization says whether the server gets an Authorization that was written down for it, beside which none is obtained.
func (t *target) ownAuthorization() bool {
	if t.remote.header.Get("Authorization") != "" {
		return true
	}
	return t.selected.endpoint != nil && hasAuthorization(t.selected.endpoint.Headers)
}

func hasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}
