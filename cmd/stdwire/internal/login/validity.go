package login

import (
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/httpurl"
)

// A Key says whose login it is: of a principal of the gateway, by one of his OAuth clients ("" if
// its name is not known), at a server.
type Key struct{ User, Client, Server string }

// A Login is what is known of a login without the key that seals it. It has no secrets.
type Login struct {
	User      string    `json:"user"`
	Client    string    `json:"client,omitempty"`
	Server    string    `json:"server"`
	URL       string    `json:"url"` // of the server, without user, query and fragment
	Resource  string    `json:"resource"`
	Issuer    string    `json:"issuer"`
	Scopes    []string  `json:"scopes,omitempty"`
	Renewable bool      `json:"renewable,omitempty"` // has a refresh token
	Begun     time.Time `json:"begun,omitzero"`      // when the user has logged in
	Saved     time.Time `json:"saved"`               // when it was renewed, or began
	Expires   time.Time `json:"expires,omitzero"`    // of the access token; zero: unknown
	Until     time.Time `json:"until"`               // when it is forgotten
}

// Key returns the key of a login.
func (l *Login) Key() Key { return Key{l.User, l.Client, l.Server} }

// IsValid reports whether a login can still be used, as far as is known here.
func (l *Login) IsValid(now time.Time) bool {
	return now.Before(l.Until) && (l.Renewable || l.Expires.IsZero() || now.Before(l.Expires))
}

// State says in a word whether a login is valid, renewable without its user, or expired.
func (l *Login) State(now time.Time) string {
	switch {
	case !l.IsValid(now):
		return "expired"
	case !l.Expires.IsZero() && !now.Before(l.Expires):
		return "renewable"
	}
	return "valid"
}

// newLogin returns what is known of credentials.
func newLogin(k Key, c *auth.Credentials) Login {
	l := Login{User: k.User, Client: k.Client, Server: k.Server,
		URL: httpurl.PublicText(c.Endpoint), Resource: httpurl.PublicText(c.Resource),
		Issuer: httpurl.PublicText(c.Issuer), Scopes: c.Scopes, Renewable: c.RefreshToken != "",
		Saved: c.Saved.UTC(), Expires: c.Expires.UTC()}
	if c.Granted != "" {
		l.Scopes = strings.Fields(c.Granted)
	}
	switch {
	case l.Renewable:
		l.Until = l.Saved.Add(keepFor)
	case !l.Expires.IsZero():
		l.Until = l.Expires
	default:
		l.Until = l.Saved.Add(keepUnknown)
	}
	return l
}
