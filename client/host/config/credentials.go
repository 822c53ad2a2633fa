package config

import (
	"encoding/json"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
)

// Credentials describe with what a gateway calls a server on behalf of each of its users. The
// strings of a [Server] may contain variables; those of an [Endpoint] do not.
type Credentials struct {
	Type CredentialType

	// Headers, for CredentialHeader, are the headers that the server gets, by the names that they
	// have in the requests of the gateway's clients.
	Headers map[string]string
	// Env, for CredentialEnv, are the values of variables of the server's process: "subject",
	// "issuer", "client_id", "groups", "scopes", "claim:NAME" or "header:NAME".
	Env map[string]string

	// For CredentialExchange and CredentialIDJAG: the authorization server that issues the users'
	// tokens, and the gateway's client there.
	TokenEndpoint string
	ClientID      string
	ClientSecret  string
	ClientAuth    string // an authentication method of clients, or "": the usual one
	// ClientKey is the file of the private key, in PEM, with which the client signs assertions in
	// place of having a secret (RFC 7523), ClientKeyID the id by which the authorization server
	// knows the key, and AssertionAudience to whom they are addressed; "": to TokenEndpoint.
	ClientKey, ClientKeyID, AssertionAudience string

	Scope              string // scopes separated by spaces
	Audience, Resource []string
	// SubjectHeader is the header with the token of the user; "": the access token with which he
	// calls the gateway.
	SubjectHeader                        string
	SubjectTokenType, RequestedTokenType string
	ActorToken, ActorTokenType           string
}

// A CredentialType is a way to a user's credentials for a server.
type CredentialType string

const (
	CredentialHeader   CredentialType = "header"   // from headers of the user's requests
	CredentialEnv      CredentialType = "env"      // a process that has the user in its environment
	CredentialExchange CredentialType = "exchange" // the user's token is exchanged (RFC 8693)
	CredentialIDJAG    CredentialType = "idjag"    // enterprise-managed authorization
	CredentialOAuth    CredentialType = "oauth"    // each user logs in once
)

// Members yields the names and values, as text, of the members that are given.
func (c *Credentials) Members() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, m := range encodeFields(credentialFields(), c) {
			text, ok := jsonscan.Text(m.JSON)
			if !ok {
				text = string(m.JSON)
			}
			if !yield(m.Name, text) {
				return
			}
		}
	}
}

// staticCredentials is the type that is the same as no credentials.
const staticCredentials CredentialType = "static"

// credentialTypes are the values of type, with the other members that each has.
var credentialTypes = []struct {
	CredentialType
	required, optional []string
	forURL, forCommand bool
}{
	{staticCredentials, nil, nil, true, true},
	{CredentialHeader, []string{"headers"}, nil, true, false},
	{CredentialEnv, []string{"env"}, nil, false, true},
	{CredentialExchange, []string{"tokenEndpoint", "clientId"},
		[]string{"clientSecret", "clientAuth", "clientKey", "clientKeyId", "assertionAudience",
			"scope", "audience", "resource", "subjectHeader",
			"subjectTokenType", "requestedTokenType", "actorToken", "actorTokenType"}, true, false},
	{CredentialIDJAG, []string{"tokenEndpoint", "clientId"},
		[]string{"clientSecret", "clientAuth", "scope", "subjectHeader", "subjectTokenType"}, true,
		false},
	{CredentialOAuth, nil, nil, true, false},
}

// typeNames returns the names of the types for which is, if not nil, returns true.
func typeNames(is func(forURL, forCommand bool) bool) (names []string) {
	for _, t := range credentialTypes {
		if is == nil || is(t.forURL, t.forCommand) {
			names = append(names, string(t.CredentialType))
		}
	}
	return names
}

// privateKeyJWT is the authentication method of a client with a key.
const privateKeyJWT = "private_key_jwt"

var clientAuthMethods = []string{"client_secret_basic", "client_secret_post", privateKeyJWT, "none"}

const (
	headerNamePattern = `^[!#-'*+.0-9A-Z^-z|~-]+$`
	// headers of the protocol and of the connection are not those of a user
	ownHeaderPattern = `^([Mm][Cc][Pp]-.*|[Hh][Oo][Ss][Tt]|[Aa][Cc][Cc][Ee][Pp][Tt]|` +
		`[Cc][Oo][Nn][Nn][Ee][Cc][Tt][Ii][Oo][Nn]|[Cc][Oo][Nn][Tt][Ee][Nn][Tt]-.*|` +
		`[Ll][Aa][Ss][Tt]-[Ee][Vv][Ee][Nn][Tt]-[Ii][Dd]|` +
		`[Tt][Ee]|[Tt][Rr][Aa][Nn][Ss][Ff][Ee][Rr]-[Ee][Nn][Cc][Oo][Dd][Ii][Nn][Gg]|` +
		`[Uu][Pp][Gg][Rr][Aa][Dd][Ee])$`
	userVariablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`
	userValuePattern    = `^(subject|issuer|client_id|groups|scopes|claim:.+|` +
		`header:[!#-'*+.0-9A-Z^-z|~-]+)$`
)

var (
	userVariable = regexp.MustCompile(userVariablePattern)
	ownHeader    = regexp.MustCompile(ownHeaderPattern)
	userValue    = regexp.MustCompile(userValuePattern)
)

var (
	credentialsType = valueType{"object", reference("credentials")}
	headerNamesType = valueType{"object of names of headers", object{"type": "object",
		"minProperties": 1, "propertyNames": pattern(headerNamePattern),
		"additionalProperties": object{"type": "string",
			"pattern": headerNamePattern, "not": pattern(ownHeaderPattern)}}}
	userVariablesType = valueType{"object of values by variables", object{"type": "object",
		"minProperties": 1, "propertyNames": pattern(userVariablePattern),
		"additionalProperties": object{"type": "string", "pattern": userValuePattern}}}
	clientAuthType = valueType{strings.Join(clientAuthMethods, ", "),
		object{"enum": clientAuthMethods}}
)

// isUpstreamHeader reports whether a header that a user sends may be passed on as this one.
func isUpstreamHeader(name string) bool {
	return httptoken.Is(name) && !ownHeader.MatchString(name)
}

// credentialFields returns the members of credentials.
func credentialFields() []field[*Credentials] {
	return []field[*Credentials]{
		{names: []string{"type"}, secret: notSecret,
			valueType: valueType{strings.Join(typeNames(nil), ", "),
				object{"enum": typeNames(nil)}},
			help: "How: static, the default, by the definition itself, the same for all users; header, by headers of the user's requests; env, by variables of a process for the user; exchange, by a token that the user's one is exchanged for; idjag, by one that the organization's identity provider vouches for; oauth, by one that the user is asked to log in for.",
			at:   func(c *Credentials) any { return (*string)(&c.Type) },
			read: (*reader).readCredentialType},
		{names: []string{"headers"}, valueType: headerNamesType, secret: notSecret,
			help: "For header: the headers that each request of a user must have, and the names under which the server gets them.",
			at:   func(c *Credentials) any { return &c.Headers },
			read: func(r *reader, c *Credentials, v jsonedit.Value) {
				c.Headers = r.readPairs(v, httptoken.Is, isUpstreamHeader,
					"the name of a header", "that of a header which may be passed on")
			}},
		{names: []string{"env"}, valueType: userVariablesType, secret: notSecret,
			help: "For env: variables of the process, each subject, issuer, client_id, groups, scopes, claim:NAME or, from the user's request, header:NAME.",
			at:   func(c *Credentials) any { return &c.Env },
			read: func(r *reader, c *Credentials, v jsonedit.Value) {
				c.Env = r.readPairs(v, userVariable.MatchString, userValue.MatchString,
					"the name of a variable",
					"subject, issuer, client_id, groups, scopes, claim:NAME or header:NAME")
			}},
		{names: []string{"tokenEndpoint"}, valueType: textType, secret: secretURL,
			help: "For exchange and idjag: the https: URL at which the authorization server of the users exchanges tokens.",
			at:   func(c *Credentials) any { return &c.TokenEndpoint }},
		{names: []string{"clientId"}, valueType: textType, secret: secretWords,
			help: "The gateway's client ID there.",
			at:   func(c *Credentials) any { return &c.ClientID }},
		{names: []string{"clientSecret"}, valueType: textType,
			help: "The secret of that client.",
			at:   func(c *Credentials) any { return &c.ClientSecret }},
		{names: []string{"clientAuth"}, valueType: clientAuthType, secret: notSecret,
			help: "How the client authenticates; with a secret client_secret_basic by default, with a key private_key_jwt.",
			at:   func(c *Credentials) any { return &c.ClientAuth },
			read: func(r *reader, c *Credentials, v jsonedit.Value) {
				c.ClientAuth = r.readOneOf(v, clientAuthMethods)
			}},
		{names: []string{"clientKey"}, valueType: textType, secret: notSecret,
			help: "For exchange: the path of a PEM file with the private key of that client, for private_key_jwt in place of a secret.",
			at:   func(c *Credentials) any { return &c.ClientKey }},
		{names: []string{"clientKeyId"}, valueType: textType, secret: notSecret,
			help: "The id of that key at the authorization server, if it has several.",
			at:   func(c *Credentials) any { return &c.ClientKeyID }},
		{names: []string{"assertionAudience"}, valueType: textType, secret: notSecret,
			help: "Whom what is signed with that key is for: the authorization server's issuer identifier, or by default tokenEndpoint.",
			at:   func(c *Credentials) any { return &c.AssertionAudience }},
		{names: []string{"scope"}, valueType: textType, secret: notSecret,
			help: "The scopes to ask for, separated by spaces; more are asked for when the server says that they are missing.",
			at:   func(c *Credentials) any { return &c.Scope }},
		{names: []string{"audience"}, valueType: textsType, secret: notSecret,
			help: "For exchange: the logical names of the server at the authorization server.",
			at:   func(c *Credentials) any { return &c.Audience }},
		{names: []string{"resource"}, valueType: textsType, secret: notSecret,
			help: "For exchange: the URIs of the server; without these and audience its URL.",
			at:   func(c *Credentials) any { return &c.Resource }},
		{names: []string{"subjectHeader"}, secret: notSecret,
			valueType: valueType{"text", object{"type": "string", "pattern": headerNamePattern}},
			help:      "The header of the user's requests with the token to exchange, in place of the access token with which he calls the gateway.",
			at:        func(c *Credentials) any { return &c.SubjectHeader },
			read: func(r *reader, c *Credentials, v jsonedit.Value) {
				if c.SubjectHeader = r.readString(v); !httptoken.Is(c.SubjectHeader) {
					r.errorf(v.Start, "%s is not the name of a header", r.field)
				}
			}},
		{names: []string{"subjectTokenType"}, valueType: textType, secret: notSecret,
			help: "The URI of that token's type; by default an access token, for idjag an ID token.",
			at:   func(c *Credentials) any { return &c.SubjectTokenType }},
		{names: []string{"requestedTokenType"}, valueType: textType, secret: notSecret,
			help: "For exchange: the URI of the type of token to ask for.",
			at:   func(c *Credentials) any { return &c.RequestedTokenType }},
		{names: []string{"actorToken"}, valueType: textType,
			help: "For exchange: a token of the gateway itself, which acts for the user.",
			at:   func(c *Credentials) any { return &c.ActorToken }},
		{names: []string{"actorTokenType"}, valueType: textType, secret: notSecret,
			help: "The URI of the actor token's type; required with it.",
			at:   func(c *Credentials) any { return &c.ActorTokenType }},
	}
}

// encode returns the value of the member credentials; nil for none.
func (c *Credentials) encode() any {
	if c == nil {
		return nil
	}
	return json.RawMessage(jsonedit.Object(encodeFields(credentialFields(), c)))
}

// readCredentials reads credentials. What is wrong is an error, as otherwise the server would be
// called with other credentials than its owner wants. It returns nil for static credentials.
func (r *reader) readCredentials(v jsonedit.Value) *Credentials {
	c := new(Credentials)
	if !readClosed(r, v, "credentials", c, credentialFields()) {
		return nil
	}
	given := map[string]jsonedit.Member{}
	for _, m := range v.Members() {
		given[m.Name] = m
	}
	if _, ok := given["type"]; !ok {
		r.errorf(v.Start, "credentials has no type: add one of %s",
			strings.Join(typeNames(nil), ", "))
		return nil
	}
	for _, t := range credentialTypes {
		if t.CredentialType != c.Type {
			continue
		}
		for _, name := range t.required {
			m, ok := given[name]
			if ok {
				text, isText := m.Value.AsString()
				ok = !isText || text != ""
			}
			if !ok {
				r.errorf(v.Start, "credentials of the type %s need %s", t.CredentialType, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if slices.Contains(fieldsOf(credentialFields()), name) && name != "type" &&
				!slices.Contains(t.required, name) && !slices.Contains(t.optional, name) {
				r.errorf(given[name].Offset, "credentials of the type %s have no %s",
					t.CredentialType, name)
			}
		}
	}
	if (c.ActorToken == "") != (c.ActorTokenType == "") {
		r.errorf(v.Start, "credentials: actorToken and actorTokenType need each other")
	}
	switch {
	case c.ClientKey != "" && c.ClientSecret != "":
		r.errorf(v.Start, "credentials: clientKey and clientSecret exclude each other")
	case c.ClientKey != "" && c.ClientAuth != "" && c.ClientAuth != privateKeyJWT:
		r.errorf(v.Start, "credentials: with clientKey, clientAuth is %s", privateKeyJWT)
	case c.ClientKey == "" && (c.ClientAuth == privateKeyJWT || c.ClientKeyID != "" ||
		c.AssertionAudience != ""):
		r.errorf(v.Start, "credentials: clientAuth %s, clientKeyId and assertionAudience need clientKey",
			privateKeyJWT)
	}
	r.checkPassedOn(v, c)
	if c.Type == staticCredentials {
		return nil
	}
	return c
}

// checkPassedOn checks together the headers of a user's requests that the server gets.
func (r *reader) checkPassedOn(v jsonedit.Value, c *Credentials) {
	givenBy := map[string]string{}
	passesToken := slices.ContainsFunc(slices.Collect(maps.Values(c.Env)),
		func(value string) bool { return strings.EqualFold(value, "header:Authorization") })
	for _, from := range slices.Sorted(maps.Keys(c.Headers)) {
		passesToken = passesToken || strings.EqualFold(from, "Authorization")
		to := strings.ToLower(c.Headers[from])
		if other, ok := givenBy[to]; ok && to != "" {
			r.errorf(v.Start, "credentials.headers: for the server, %.60q and %.60q are the same header, %.60q; remove one of them",
				other, from, c.Headers[from])
		}
		givenBy[to] = from
	}
	if passesToken {
		r.warnf(v.Start, "credentials: the server gets the token that clients send to the gateway, and can call the gateway with it")
	}
}

func (r *reader) readCredentialType(c *Credentials, v jsonedit.Value) {
	c.Type = CredentialType(r.readOneOf(v, typeNames(nil)))
}

// readOneOf reads one of some texts.
func (r *reader) readOneOf(v jsonedit.Value, all []string) string {
	text, isText := v.AsString()
	if !isText {
		r.typeError(v, "one of "+strings.Join(all, ", "))
	} else if !slices.Contains(all, text) {
		r.errorf(v.Start, "%s is %.60q; %s", r.field, text, near.Instead(text, all))
	}
	return text
}

// readPairs reads an object of texts. is checks the names, which messages call named, and has the
// values, which they call given.
func (r *reader) readPairs(v jsonedit.Value, is, has func(string) bool,
	named, given string) map[string]string {
	if !v.IsObject() {
		r.typeError(v, "an object")
		return nil
	}
	pairs := map[string]string{}
	field := r.field
	for _, m := range r.members(v) {
		value, isText := m.Value.AsString()
		switch {
		case !is(m.Name):
			r.errorf(m.Offset, "%s: %.60q is not %s", field, m.Name, named)
		case !isText || !has(value):
			r.errorf(m.Offset, "%s: the value of %.60q is not %s", field, m.Name, given)
		}
		pairs[m.Name] = value
	}
	if len(pairs) == 0 {
		r.errorf(v.Start, "%s is empty", field)
	}
	return pairs
}

// credentialsSchema accepts what readCredentials does.
func credentialsSchema() object {
	all := objectSchema(credentialFields())["properties"].(object)
	var types []object
	for _, t := range credentialTypes {
		properties := object{"type": object{"const": t.CredentialType}}
		for _, name := range t.required {
			properties[name] = all[name]
			if all[name].(object)["type"] == "string" {
				properties[name] = allOf(all[name].(object), not(object{"const": ""}))
			}
		}
		for _, name := range t.optional {
			properties[name] = all[name]
		}
		types = append(types, closed(object{"type": "object", "properties": properties,
			"required": append([]string{"type"}, t.required...)}))
	}
	s := anyOf(types...)
	actor, actorType := given("actorToken"), given("actorTokenType")
	key, isJWT := given("clientKey"), object{"const": privateKeyJWT}
	ofClient := withMember("clientAuth", isJWT)
	ofClient["required"] = []string{"clientAuth"}
	s["allOf"] = []object{{"if": actor, "then": actorType}, {"if": actorType, "then": actor},
		{"if": key, "then": allOf(not(given("clientSecret")), withMember("clientAuth", isJWT)),
			"else": not(anyOf(ofClient, given("clientKeyId"), given("assertionAudience")))}}
	return s
}

// credentialConditions returns what checkCredentials demands.
func credentialConditions(isCommand, isURL object) []object {
	ofType := func(names ...string) object {
		return object{"required": []string{"credentials"}, "properties": object{
			"credentials": withMember("type", object{"enum": names})}}
	}
	perUser := slices.DeleteFunc(typeNames(nil),
		func(name string) bool { return name == string(staticCredentials) })
	names := map[string][]string{}
	for _, f := range oauthFields() {
		names[f.names[0]] = f.names
	}
	client := allOf(given(names["clientId"]...), given(names["issuer"]...))
	off := anyOf(object{"const": false}, object{"type": "object", "required": []string{"enabled"},
		"properties": object{"enabled": object{"const": false}}})
	return []object{
		not(allOf(isCommand, ofType(typeNames(
			func(_, forCommand bool) bool { return !forCommand })...))),
		not(allOf(isURL, ofType(typeNames(func(forURL, _ bool) bool { return !forURL })...))),
		not(allOf(ofType(perUser...), object{"required": []string{"perSession"},
			"properties": object{"perSession": object{"const": true}}})),
		{"if": ofType(string(CredentialIDJAG)), "then": anyOf(
			allOf(has("oauth"), withMember("oauth", client)),
			allOf(has("auth"), withMember("auth", client)))},
		not(allOf(ofType(string(CredentialOAuth)), anyOf(
			allOf(has("oauth"), withMember("oauth", off)),
			allOf(has("auth"), withMember("auth", off))))),
	}
}
