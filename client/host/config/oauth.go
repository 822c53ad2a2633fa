package config

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/oauth"
)

// OAuth is how to authorize requests to a server at a URL. The strings of a [Server] may contain
// variables; those of an [Endpoint] do not.
type OAuth struct {
	// "oauth": false; no token is asked for, and none that is there is used
	Disabled     bool
	ClientID     string // "": the client is registered dynamically
	ClientSecret string
	// the authorization server that knows ClientID, and the only one that may see ClientSecret;
	// required with that
	Issuer      string
	Scope       string // separated by spaces
	RedirectURI string // "": any port of this machine
	// its authorization server may be in a private network, though the server is not
	AllowPrivate bool
	// "grantType": "client_credentials"; the client acts for itself, with its secret, and no user
	// is asked
	ClientCredentials bool
}

const (
	authorizationCode = "authorization_code"
	clientCredentials = "client_credentials"
)

// An oauthJSON is an [OAuth] in stdwire's own form: false, or an object.
type oauthJSON OAuth

// MarshalJSON implements [json.Marshaler].
func (o *oauthJSON) MarshalJSON() ([]byte, error) {
	if o.Disabled {
		return []byte("false"), nil
	}
	text := []byte{'{'}
	for _, m := range []struct{ name, value string }{
		{"clientId", o.ClientID}, {"clientSecret", o.ClientSecret}, {"issuer", o.Issuer},
		{"scope", o.Scope}, {"redirectUri", o.RedirectURI},
		{"grantType", map[bool]string{true: clientCredentials}[o.ClientCredentials]},
	} {
		if m.value == "" {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(jsonscan.AppendString(text, m.name), ':')
		text = jsonscan.AppendString(text, m.value)
	}
	if o.AllowPrivate {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, `"allowPrivate":true`...)
	}
	return append(text, '}'), nil
}

// readOAuth reads oauth: true, false or an object with the names of any application.
func (r *reader) readOAuth(v value) {
	if on, ok := v.bool(); ok {
		r.server.OAuth = &OAuth{Disabled: !on}
		return
	}
	if !v.isObject() {
		r.typeError(v, "true, false or an object")
		return
	}
	o := new(OAuth)
	r.server.OAuth = o
	port := 0
	for _, m := range r.members(v) {
		r.field = "oauth." + namePrefix(m.name)
		switch m.name {
		case "enabled":
			o.Disabled = !r.readBool(m.value)
		case "allowPrivate":
			o.AllowPrivate = r.readBool(m.value)
		case "clientId", "client_id", "CLIENT_ID":
			o.ClientID = r.readString(m.value)
		case "clientSecret", "client_secret", "CLIENT_SECRET":
			o.ClientSecret = r.readString(m.value)
		case "issuer", "ISSUER":
			o.Issuer = r.readString(m.value)
		case "scope", "scopes":
			if m.isArray() {
				o.Scope = strings.Join(r.readStrings(m.value), " ")
			} else {
				o.Scope = r.readString(m.value)
			}
		case "redirectUri", "redirect_uri", "redirectUrl":
			o.RedirectURI = r.readString(m.value)
		case "grantType", "grant_type":
			switch grant := r.readString(m.value); grant {
			case authorizationCode, clientCredentials:
				o.ClientCredentials = grant == clientCredentials
			default:
				r.errorf(m.start, "%s wants to be %s or %s", r.field, authorizationCode,
					clientCredentials)
			}
		case "callbackPort", "callback_port":
			n, ok := m.integer()
			if !ok || n < 1 || n > 65535 {
				r.errorf(m.start, "%s wants to be a port, and is none", r.field)
			}
			port = int(n)
		default:
			r.warnf(m.offset, "unknown field %.60q; it does nothing here", "oauth."+m.name)
		}
	}
	switch {
	case o.ClientSecret != "" && o.ClientID == "":
		r.errorf(v.start, "oauth has a clientSecret, and no clientId that it belongs to")
	case o.ClientSecret != "" && o.Issuer == "" && !o.Disabled:
		r.errorf(v.start,
			`oauth has a clientSecret, and no issuer that may see it: add "issuer": the URL of the authorization server that has registered the client`)
	case o.Issuer != "" && o.ClientID == "":
		r.errorf(v.start, "oauth has an issuer, and no clientId that is registered there")
	case o.ClientCredentials && o.ClientSecret == "":
		r.errorf(v.start, "oauth has the grantType %s, and no clientId and clientSecret to show",
			clientCredentials)
	case port != 0 && o.RedirectURI != "":
		r.errorf(v.start, "oauth has a redirectUri and a port; leave out one of them")
	case port != 0:
		o.RedirectURI = "http://127.0.0.1:" + strconv.Itoa(port) + "/callback"
	}
}

// oauth expands the variables of o.
func (r *resolver) oauth(o *OAuth) *OAuth {
	if o == nil {
		return nil
	}
	e := &OAuth{
		Disabled: o.Disabled, AllowPrivate: o.AllowPrivate, ClientCredentials: o.ClientCredentials,
		ClientID:     r.expand("oauth.clientId", o.ClientID),
		ClientSecret: r.expand("oauth.clientSecret", o.ClientSecret),
		Issuer:       r.expand("oauth.issuer", o.Issuer), Scope: r.expand("oauth.scope", o.Scope),
		RedirectURI: r.expand("oauth.redirectUri", o.RedirectURI),
	}
	if u, err := url.Parse(e.RedirectURI); r.missing == nil && e.RedirectURI != "" &&
		(err != nil || u.Scheme != "http" || !oauth.IsLoopback(u.Hostname())) {
		r.fail("oauth.redirectUri: want an http: URL of this machine, such as http://127.0.0.1:8123/callback")
	}
	if r.missing == nil && !e.Disabled && (e.Issuer != "" || e.ClientSecret != "") &&
		!isIssuer(e.Issuer) {
		r.fail("oauth.issuer: want the https: URL of the authorization server that has registered the client")
	}
	return e
}

// isIssuer reports whether text is the URL of an authorization server that may receive a secret.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && oauth.IsLoopback(u.Hostname()))
}

// redactOAuth hides the secret.
func redactOAuth(o *OAuth) *OAuth {
	if o == nil {
		return nil
	}
	c := *o
	c.ClientID, c.ClientSecret, c.Issuer = redactWord(o.ClientID), redactText(o.ClientSecret),
		redactURL(o.Issuer)
	c.Scope, c.RedirectURI = redactWord(o.Scope), redactURL(o.RedirectURI)
	return &c
}
