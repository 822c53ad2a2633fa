package config

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// OAuth describes the authorization of requests to a server at a URL. The strings of a [Server] may
// contain variables; those of an [Endpoint] do not.
type OAuth struct {
	// Disabled, for "oauth": false, says that no token is requested or used.
	Disabled bool
	// ClientID is the ID of a registered client. If it is "", the client registers dynamically.
	ClientID     string
	ClientSecret string
	// Issuer is the authorization server that the user trusts for the server, whatever the server
	// names. It has registered ClientID and may receive ClientSecret; it is required with
	// ClientSecret.
	Issuer      string
	Scope       string // scopes separated by spaces
	RedirectURI string // "": a free port of this machine
	// AllowPrivate permits an authorization server with a private address for a server with a
	// public address.
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
func (r *reader) readOAuth(v jsonedit.Value) {
	if on, ok := v.AsBool(); ok {
		r.server.OAuth = &OAuth{Disabled: !on}
		return
	}
	if !v.IsObject() {
		r.typeError(v, "true, false or an object")
		return
	}
	r.server.OAuth = new(OAuth)
	o := &oauthReader{reader: r, OAuth: r.server.OAuth}
	readMembers(r, v, "oauth.", o, oauthFields(), func(m jsonedit.Member) {
		r.warnf(m.Offset, "unknown field %.60q; it does nothing here", "oauth."+m.Name)
	})
	port := o.port
	switch {
	case o.ClientSecret != "" && o.ClientID == "":
		r.errorf(v.Start, "oauth has a clientSecret but no clientId")
	case o.ClientSecret != "" && o.Issuer == "" && !o.Disabled:
		r.errorf(v.Start,
			`oauth has a clientSecret but no issuer that may receive it: add "issuer": the URL of the authorization server that has registered the client`)
	case o.ClientCredentials && o.ClientSecret == "":
		r.errorf(v.Start, "oauth has the grantType %s but no clientId and clientSecret",
			clientCredentials)
	case port != 0 && o.RedirectURI != "":
		r.errorf(v.Start, "oauth has a redirectUri and a port; remove one of them")
	case port != 0:
		o.RedirectURI = "http://127.0.0.1:" + strconv.Itoa(port) + "/callback"
	}
}

// An oauthReader reads one object oauth.
type oauthReader struct {
	*reader
	*OAuth
	port int // of RedirectURI; 0 if not given
}

// oauthFields returns the members of oauth.
func oauthFields() []field[*oauthReader] {
	return []field[*oauthReader]{
		{[]string{"clientId", "client_id", "CLIENT_ID"}, textType,
			"The ID of a registered client; without it the client registers itself.",
			func(o *oauthReader, v jsonedit.Value) { o.ClientID = o.readString(v) }},
		{[]string{"clientSecret", "client_secret", "CLIENT_SECRET"}, textType,
			"The secret of that client; it requires issuer.",
			func(o *oauthReader, v jsonedit.Value) { o.ClientSecret = o.readString(v) }},
		{[]string{"issuer", "ISSUER"}, textType,
			"The authorization server to use, whatever the server names; it receives the secret.",
			func(o *oauthReader, v jsonedit.Value) { o.Issuer = o.readString(v) }},
		{[]string{"scope", "scopes"}, scopeType, "The scopes to ask for.", (*oauthReader).readScope},
		{[]string{"grantType", "grant_type"}, grantType,
			"client_credentials: the client authenticates with its secret, without a user.",
			(*oauthReader).readGrantType},
		{[]string{"redirectUri", "redirect_uri", "redirectUrl"}, textType,
			"The http: URL of this machine to which the browser returns; without it any port.",
			func(o *oauthReader, v jsonedit.Value) { o.RedirectURI = o.readString(v) }},
		{[]string{"callbackPort", "callback_port"}, portType,
			"The port of redirectUri, in its place.", (*oauthReader).readPort},
		{[]string{"allowPrivate"}, boolType,
			"A server outside of a private network may have an authorization server within it.",
			func(o *oauthReader, v jsonedit.Value) { o.AllowPrivate = o.readBool(v) }},
		{[]string{"enabled"}, boolType, "false is the same as \"oauth\": false.",
			func(o *oauthReader, v jsonedit.Value) { o.Disabled = !o.readBool(v) }},
	}
}

func (o *oauthReader) readScope(v jsonedit.Value) {
	if v.IsArray() {
		o.Scope = strings.Join(o.readStrings(v), " ")
		return
	}
	o.Scope = o.readString(v)
}

func (o *oauthReader) readGrantType(v jsonedit.Value) {
	switch grant := o.readString(v); grant {
	case authorizationCode, clientCredentials:
		o.ClientCredentials = grant == clientCredentials
	default:
		o.errorf(v.Start, "%s must be %s or %s", o.field, authorizationCode, clientCredentials)
	}
}

func (o *oauthReader) readPort(v jsonedit.Value) {
	n, ok := v.AsInt()
	if !ok || n < 1 || n > 65535 {
		o.errorf(v.Start, "%s must be a port from 1 to 65535", o.field)
	}
	o.port = int(n)
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
		(err != nil || u.Scheme != "http" || !hostname.IsLoopback(u.Hostname())) {
		r.fail("oauth.redirectUri: want an http: URL of this machine, such as http://127.0.0.1:8123/callback")
	}
	if r.missing == nil && !e.Disabled && (e.Issuer != "" || e.ClientSecret != "") &&
		!isIssuer(e.Issuer) {
		r.fail("oauth.issuer: want the https: URL of the authorization server")
	}
	return e
}

// isIssuer reports whether text is a valid URL of an authorization server: https:, or http: on this
// machine.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && hostname.IsLoopback(u.Hostname()))
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
