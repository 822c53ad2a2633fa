package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Credentials that are not understood as a whole are errors: a server is never called with others
// than its owner wants. The schema says the same.
func TestCredentials(t *testing.T) {
	const endpoint = `"tokenEndpoint":"https://as.example/token","clientId":"g"`
	for text, want := range map[string]string{ // "": valid
		`"url":"https://s.example","credentials":{"type":"static"}`:                                                 "",
		`"command":"s","credentials":{"type":"static"}`:                                                             "",
		`"command":"s","credentials":{"type":"env","env":{"WHO":"subject","ORG":"claim:org","KEY":"header:X-Key"}}`: "",
		`"url":"https://s.example","credentials":{"type":"header","headers":{"X-Key":"Authorization"}}`:             "",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `}`:                              "",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientSecret":"${SECRET}","clientAuth":"client_secret_post","scope":"a b","audience":["x","y"],"resource":["urn:z"],"subjectHeader":"X-Token","subjectTokenType":"t","requestedTokenType":"r","actorToken":"a","actorTokenType":"b"}`: "",
		`"url":"https://s.example","oauth":{"clientId":"c","issuer":"https://rs.example"},"credentials":{"type":"idjag",` + endpoint + `}`:                                                                                                                                                                                  "",
		`"url":"https://s.example","credentials":{"type":"oauth"}`:                       "",
		`"url":"https://s.example","oauth":{"scope":"a"},"credentials":{"type":"oauth"}`: "",

		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientKey":"k.pem","clientKeyId":"1","assertionAudience":"https://as.example"}`: "",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientKey":"k.pem","clientAuth":"private_key_jwt"}`:                             "",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientKey":"k.pem","clientSecret":"s"}`:                                         "exclude each other",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientKey":"k.pem","clientAuth":"none"}`:                                        "clientAuth is private_key_jwt",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientAuth":"private_key_jwt"}`:                                                 "need clientKey",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientKey":"","clientKeyId":"1"}`:                                               "need clientKey",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"assertionAudience":"https://as.example"}`:                                       "need clientKey",

		`"url":"https://s.example","credentials":true`:                                                                                                      "must be an object",
		`"url":"https://s.example","credentials":{}`:                                                                                                        "credentials has no type",
		`"url":"https://s.example","credentials":{"type":1}`:                                                                                                "must be one of static",
		`"url":"https://s.example","credentials":{"type":"passthrough"}`:                                                                                    `"passthrough"`,
		`"url":"https://s.example","oauth":false,"credentials":{"type":"oauth"}`:                                                                            "exclude each other",
		`"url":"https://s.example","oauth":{"enabled":false},"credentials":{"type":"oauth"}`:                                                                "exclude each other",
		`"url":"https://s.example","credentials":{"type":"oauth","scope":"a"}`:                                                                              "have no scope",
		`"command":"s","credentials":{"type":"oauth"}`:                                                                                                      "are for servers with a URL",
		`"url":"https://s.example","credentials":{"type":"exchang"}`:                                                                                        "exchange",
		`"url":"https://s.example","credentials":{"type":"static","scope":"a"}`:                                                                             "have no scope",
		`"url":"https://s.example","credentials":{"type":"header"}`:                                                                                         "need headers",
		`"url":"https://s.example","credentials":{"type":"header","headers":{}}`:                                                                            "is empty",
		`"url":"https://s.example","credentials":{"type":"header","headers":[]}`:                                                                            "must be an object",
		`"url":"https://s.example","credentials":{"type":"header","headers":{"a b":"X"}}`:                                                                   `"a b" is not the name of a header`,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"A":1}}`:                                                                       `the value of "A"`,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"A":"Mcp-Session-Id"}}`:                                                        `the value of "A"`,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"A":"HOST"}}`:                                                                  `the value of "A"`,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"A":"last-Event-ID"}}`:                                                         `the value of "A"`,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"X-B":"x-KEY","X-A":"X-Key"}}`:                                                 `"X-A" and "X-B" are the same header, "x-KEY"`,
		`"url":"https://s.example","credentials":{"type":"header","header":{"A":"B"}}`:                                                                      "headers",
		`"url":"https://s.example","credentials":{"type":"env","env":{"A":"subject"}}`:                                                                      "are for servers with a command",
		`"command":"s","credentials":{"type":"header","headers":{"A":"B"}}`:                                                                                 "are for servers with a URL",
		`"command":"s","credentials":{"type":"env"}`:                                                                                                        "need env",
		`"command":"s","credentials":{"type":"env","env":{"A-B":"subject"}}`:                                                                                `"A-B" is not the name of a variable`,
		`"command":"s","credentials":{"type":"env","env":{"A":"token"}}`:                                                                                    `the value of "A"`,
		`"command":"s","perSession":true,"credentials":{"type":"env","env":{"A":"subject"}}`:                                                                "exclude each other",
		`"url":"https://s.example","credentials":{"type":"exchange","clientId":"g"}`:                                                                        "need tokenEndpoint",
		`"url":"https://s.example","credentials":{"type":"exchange","tokenEndpoint":"https://a"}`:                                                           "need clientId",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"clientAuth":"jwt"}`:                                                   "clientAuth",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"actorToken":"a"}`:                                                     "need each other",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"subjectHeader":"a b"}`:                                                "is not the name of a header",
		`"url":"https://s.example","credentials":{"type":"exchange",` + endpoint + `,"headers":{"A":"B"}}`:                                                  "have no headers",
		`"url":"https://s.example","credentials":{"type":"idjag",` + endpoint + `}`:                                                                         `need "oauth"`,
		`"url":"https://s.example","oauth":{"clientId":"c"},"credentials":{"type":"idjag",` + endpoint + `}`:                                                `need "oauth"`,
		`"url":"https://s.example","oauth":{"clientId":"c","issuer":"https://rs.example"},"credentials":{"type":"idjag","audience":["a"],` + endpoint + `}`: "have no audience",
	} {
		text = `{"mcpServers": {"s": {` + text + `}}}`
		f := parse(text)
		checkSchema(t, text, f)
		s := f.Servers[0]
		if want == "" {
			assert.Check(t, s.Err, text)
			assert.Check(t, cmp.Equal(s.Credentials != nil, !strings.Contains(text, "static")))
			continue
		}
		if assert.Check(t, s.Err != nil, text) {
			assert.Check(t, cmp.ErrorContains(s.Err, want), text)
		}
	}
}

// A server that gets the token for the gateway itself is a warning, whatever way it takes.
func TestCredentialsThatPassTheToken(t *testing.T) {
	for text, want := range map[string]bool{
		`"url":"https://s.example","credentials":{"type":"header","headers":{"authorization":"X-Key"}}`:   true,
		`"url":"https://s.example","credentials":{"type":"header","headers":{"X-Key":"Authorization"}}`:   false,
		`"command":"s","credentials":{"type":"env","env":{"T":"header:authorization"}}`:                   true,
		`"command":"s","credentials":{"type":"env","env":{"T":"header:X-Key","U":"claim:authorization"}}`: false,
	} {
		f := parse(`{"mcpServers": {"s": {` + text + `}}}`)
		assert.NilError(t, f.Servers[0].Err)
		got := slices.ContainsFunc(f.Diagnostics, func(d Diagnostic) bool {
			return d.Severity == SeverityWarning && strings.Contains(d.Message, "can call the gateway with it")
		})
		assert.Equal(t, got, want, text)
	}
}

// Secrets of credentials are expanded when the server starts, and are shown nowhere.
func TestCredentialSecrets(t *testing.T) {
	const text = `{"mcpServers": {"s": {"url":"https://s.example","credentials":{"type":"exchange",
		"tokenEndpoint":"${EP}","clientId":"g","clientSecret":"hunter2","actorToken":"${A:-s3cret}",
		"actorTokenType":"t"}}}}`
	s := parse(text).Servers[0]
	assert.NilError(t, s.Err)
	for _, shown := range []string{string(s.Redacted().JSON())} {
		assert.Check(t, !strings.Contains(shown, "hunter2") && !strings.Contains(shown, "s3cret"),
			shown)
	}
	hidden := text
	for _, r := range SecretRanges([]byte(text)[len(`{"mcpServers": {"s": `) : len(text)-2]) {
		assert.Check(t, r[0] < r[1])
		hidden = hidden[:0]
	}
	assert.Equal(t, hidden, "")
	env := world(map[string]string{"EP": "https://as.example/token"}, nil)
	e, err := s.Resolve(env)
	assert.NilError(t, err)
	assert.Equal(t, e.Credentials.TokenEndpoint, "https://as.example/token")
	assert.Equal(t, e.Credentials.ActorToken, "s3cret")
	assert.Equal(t, s.Credentials.TokenEndpoint, "${EP}")
	_, err = s.Resolve(world(map[string]string{"EP": "http://as.example/token"}, nil))
	assert.ErrorContains(t, err, "credentials.tokenEndpoint: want the https: URL")
	_, err = s.Resolve(world(nil, nil))
	assert.ErrorContains(t, err, "credentials.tokenEndpoint: ${EP} is not set")
	members := maps.Collect(s.Credentials.Members())
	assert.Equal(t, members["type"], "exchange")
	assert.Equal(t, members["clientSecret"], "hunter2", "for the review before trust")
}
