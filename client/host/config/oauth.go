package config

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/oauth"
)

// OAuth describes the authorization of requests to a server at a URL. The strings of a [Server] may
// contain variables; those of an [Endpoint] do not.
type OAuth struct {
	// Disabled, for "oauth": false, says that no token is requested or used.
	Disabled bool
	// ClientID is the ID of a registered client. If it is "", the client registers dynamically.
	ClientID     string
	ClientSecret string
	// Issuer is the authorization server that has registered ClientID and may receive ClientSecret.
	// It is required with ClientSecret.
	Issuer      string
	Scope       string // scopes separated by spaces
	RedirectURI string // "": any port of this machine
	// AllowPrivate permits an authorization server in a private network for a server outside of it.
	AllowPrivate bool
	// ClientCredentials, for "grantType": "client_credentials", says that the client authenticates
	// with its secret, without a user.
	ClientCredentials bool
}

// The known values of grantType.
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
				r.errorf(m.start, "%s must be %s or %s", r.field, authorizationCode,
					clientCredentials)
			}
		case "callbackPort", "callback_port":
			n, ok := m.integer()
			if !ok || n < 1 || n > 65535 {
				r.errorf(m.start, "%s must be a port from 1 to 65535", r.field)
			}
			port = int(n)
		default:
			r.warnf(m.offset, "unknown field %.60q; it does nothing here", "oauth."+m.name)
		}
	}
	switch {
	case o.ClientSecret != "" && o.ClientID == "":
		r.errorf(v.start, "oauth has a clientSecret but no clientId")
	case o.ClientSecret != "" && o.Issuer == "" && !o.Disabled:
		r.errorf(v.start,
			`oauth has a clientSecret but no issuer that may receive it: add "issuer": the URL of the authorization server that has registered the client`)
	case o.Issuer != "" && o.ClientID == "":
		r.errorf(v.start, "oauth has an issuer but no clientId")
	case o.ClientCredentials && o.ClientSecret == "":
		r.errorf(v.start, "oauth has the grantType %s but no clientId and clientSecret",
			clientCredentials)
	case port != 0 && o.RedirectURI != "":
		r.errorf(v.start, "oauth has a redirectUri and a port; remove one of them")
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

// isIssuer reports whether text is a valid URL of an authorization server: https:, or http: on this
// machine.
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
