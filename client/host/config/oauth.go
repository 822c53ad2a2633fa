package config

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

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

// encode returns the value of the member oauth: false, or an object; nil for none.
func (o *OAuth) encode() any {
	if o == nil {
		return nil
	}
	if o.Disabled {
		return false
	}
	all := encodeFields(oauthFields(), o)
	for i, m := range all {
		if text, ok := jsonscan.Text(m.JSON); ok { // with the escapes that digests depend on
			all[i].JSON = jsonscan.AppendString(nil, text)
		}
	}
	return json.RawMessage(jsonedit.Object(all))
}

// readOAuth reads oauth: true, false or an object with the names of any application.
func (r *reader) readOAuth(v jsonedit.Value) *OAuth {
	if on, ok := v.AsBool(); ok {
		return &OAuth{Disabled: !on}
	}
	if !v.IsObject() {
		r.typeError(v, "true, false or an object")
		return nil
	}
	o := new(OAuth)
	r.callbackPort = 0
	readMembers(r, v, "oauth.", o, oauthFields(), func(m jsonedit.Member) {
		r.warnf(m.Offset, "unknown field %.60q; it does nothing here", "oauth."+m.Name)
	})
	switch {
	case o.ClientSecret != "" && o.ClientID == "":
		r.errorf(v.Start, "oauth has a clientSecret but no clientId")
	case o.ClientSecret != "" && o.Issuer == "" && !o.Disabled:
		r.errorf(v.Start,
			`oauth has a clientSecret but no issuer that may receive it: add "issuer": the URL of the authorization server that has registered the client`)
	case o.ClientCredentials && o.ClientSecret == "":
		r.errorf(v.Start, "oauth has the grantType %s but no clientId and clientSecret",
			clientCredentials)
	case r.callbackPort != 0 && o.RedirectURI != "":
		r.errorf(v.Start, "oauth has a redirectUri and a port; remove one of them")
	case r.callbackPort != 0:
		o.RedirectURI = "http://127.0.0.1:" + strconv.Itoa(r.callbackPort) + "/callback"
	}
	return o
}

var (
	oauthType = valueType{"true or false, or object",
		anyOf(object{"type": "boolean"}, reference("oauth"))}
	portType  = valueType{"port", integer(1, math.MaxUint16)}
	scopeType = valueType{"text, or array of texts", anyOf(object{"type": "string"},
		textsType.schema)}
	grantType = valueType{authorizationCode + " or " + clientCredentials,
		object{"enum": []string{authorizationCode, clientCredentials}}}
)

// oauthFields returns the members of oauth.
func oauthFields() []field[*OAuth] {
	return []field[*OAuth]{
		{names: []string{"clientId", "client_id", "CLIENT_ID"}, valueType: textType,
			help:   "The ID of a registered client; without it the client registers itself.",
			secret: secretWords, at: func(o *OAuth) any { return &o.ClientID }},
		{names: []string{"clientSecret", "client_secret", "CLIENT_SECRET"}, valueType: textType,
			help: "The secret of that client; it requires issuer.",
			at:   func(o *OAuth) any { return &o.ClientSecret }},
		{names: []string{"issuer", "ISSUER"}, valueType: textType,
			help:   "The authorization server to use, whatever the server names; it receives the secret.",
			secret: secretURL, at: func(o *OAuth) any { return &o.Issuer }},
		{names: []string{"scope", "scopes"}, valueType: scopeType, help: "The scopes to ask for.",
			secret: secretWords, at: func(o *OAuth) any { return &o.Scope },
			read: (*reader).readScope},
		{names: []string{"grantType", "grant_type"}, valueType: grantType, secret: notSecret,
			help: "client_credentials: the client authenticates with its secret, without a user.",
			read: (*reader).readGrantType, json: func(o *OAuth) any {
				return valueIf(clientCredentials, o.ClientCredentials)
			}},
		{names: []string{"redirectUri", "redirect_uri", "redirectUrl"}, valueType: textType,
			help:   "The http: URL of this machine to which the browser returns; without it any port.",
			secret: secretURL, at: func(o *OAuth) any { return &o.RedirectURI },
			before: "grantType"},
		{names: []string{"callbackPort", "callback_port"}, valueType: portType, secret: notSecret,
			help: "The port of redirectUri, in its place.", read: (*reader).readPort},
		{names: []string{"allowPrivate"}, valueType: boolType, secret: notSecret,
			help: "A server outside of a private network may have an authorization server within it.",
			at:   func(o *OAuth) any { return &o.AllowPrivate }},
		{names: []string{"enabled"}, valueType: boolType, secret: notSecret,
			help: "false is the same as \"oauth\": false.",
			read: func(r *reader, o *OAuth, v jsonedit.Value) { o.Disabled = !r.readBool(v) }},
	}
}

func (r *reader) readScope(o *OAuth, v jsonedit.Value) {
	if v.IsArray() {
		o.Scope = strings.Join(r.readStrings(v), " ")
		return
	}
	o.Scope = r.readString(v)
}

func (r *reader) readGrantType(o *OAuth, v jsonedit.Value) {
	switch grant := r.readString(v); grant {
	case authorizationCode, clientCredentials:
		o.ClientCredentials = grant == clientCredentials
	default:
		r.errorf(v.Start, "%s must be %s or %s", r.field, authorizationCode, clientCredentials)
	}
}

func (r *reader) readPort(_ *OAuth, v jsonedit.Value) {
	n, ok := v.AsInt()
	if !ok || n < 1 || n > 65535 {
		r.errorf(v.Start, "%s must be a port from 1 to 65535", r.field)
	}
	r.callbackPort = int(n)
}
