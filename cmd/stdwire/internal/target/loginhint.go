package target

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// loginHint returns the hint for a request that the server refused.
func (t *Target) loginHint(err error) string {
	login := LoginCommand(t.Configured.ID, t.Remote.URL)
	var o config.OAuth
	if e := t.Configured.Endpoint; e != nil && e.OAuth != nil {
		o = *e.OAuth
	}
	refused, ok := errors.AsType[*streamable.StatusError](err)
	switch {
	case t.Remote.tokenFrom != "":
		return t.Remote.hintToken()
	case t.hasAuthorization():
		return "the server refuses the Authorization header: " +
			hintAuthorization
	case o.Disabled:
		return "the configuration says that the server uses no OAuth (\"oauth\": false): give it a header there"
	case o.ClientCredentials:
		return "look at its \"oauth\" in the configuration, which has the client that it is to know"
	case IsError[*auth.Error](err):
		return "log in again: " + login
	case !ok:
		return hintAuthorization
	}
	challenges, malformed := oauth.ParseChallenges(refused.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		if scope := c.Get("scope"); refused.Status == http.StatusForbidden &&
			c.Get("error") == "insufficient_scope" && scope != "" && len(scope) < printable.Width {
			return "log in for more: " + login + " --scope " + shellwords.Quote(scope)
		}
	}
	for _, c := range challenges {
		if refused.Status == http.StatusUnauthorized && (c.Is("Bearer") || c.Is("DPoP")) {
			token := "add " + TokenFileFlag + " FILE"
			if t.Configured.ID != "" {
				token = "give it an Authorization header in the configuration"
			}
			return "log in: " + login + "; or, if you have a token, " + token
		}
	}
	if malformed != nil {
		return "the server's WWW-Authenticate header is malformed: " +
			printable.Line(malformed.Error()) + "; " + hintAuthorization
	}
	return hintAuthorization
}

// hintToken returns the hint for a token of --token-file that the server refuses.
func (r *Remote) hintToken() string {
	return "the server refuses the token of " + TokenFileFlag + " " +
		shellwords.Quote(r.tokenFrom) + ": it must be that of the server"
}

// ExplainRefusal changes the hint of a failure of the server of a bridge that requires
// authorization. tokenFile says whether the token of [TokenFileFlag] is for that server.
func (r *Remote) ExplainRefusal(f *command.Failure, tokenFile bool) {
	switch {
	case f.Hint != hintAuthorization:
	case r.tokenFrom != "":
		f.Hint = r.hintToken()
	case !tokenFile:
		f.Hint = "send credentials: " + hintHeader + "; " + TokenFileFlag +
			" has the token of the clients"
	}
}

// AddLoginHint adds the command that logs in to an error of a server behind a gateway, if a login
// may be the remedy. The reader of the error is not at the command line.
func AddLoginHint(id string, err error) error {
	if refused, ok := errors.AsType[*streamable.StatusError](err); IsError[*auth.Error](err) ||
		ok && refused.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w (log in: %s)", err, LoginCommand(id, ""))
	}
	return err
}

// LoginCommand returns the command that logs in to a server, by its id or its URL.
func LoginCommand(id, url string) string {
	if id == "" {
		if httpurl.PublicText(url) != url {
			return "stdwire auth login URL, with the same URL"
		}
		id = url
	}
	return "stdwire auth login " + shellwords.Quote(id)
}

// hasAuthorization reports whether an Authorization header is configured for the server. If so, no
// token is obtained.
func (t *Target) hasAuthorization() bool {
	if t.Remote.Header.Get("Authorization") != "" {
		return true
	}
	return t.Configured.Endpoint != nil && HasAuthorization(t.Configured.Endpoint.Headers)
}

func HasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}
