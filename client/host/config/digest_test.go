package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// digestFiles are files whose servers have each member, in the forms of several applications.
var digestFiles = []string{
	`{"inputs": [{"id": "key", "description": "the <key>", "password": true}], "servers": {
		"input": {"command": "x", "args": ["${input:key}"]},
		"disabled-input": {"command": "x", "disabled": true}}}`,
	`{"mcpServers": {
		"command": {"command": "x"}, "array": {"command": ["x", "a", "b"], "args": ["c"]},
		"line": {"command": "npx -y 'a b'"}, "no-args": {"command": "x", "args": []},
		"args": {"command": "x", "args": ["--token", "t0ken", "--api-key=k", "<&>", "é", "\u2028", 1, true]},
		"cwd": {"command": "x", "cwd": "a/b\\c"},
		"env": {"command": "x", "env": {"B": "2", "A": "1${C:-d}", "N": 5, "": ""}},
		"variables": {"command": "x", "env": {"B": "2", "A": "<1>${C:-d}", "N": 5, "T": true}},
		"no-env": {"command": "x", "env": {}}, "envFile": {"command": "x", "envFile": ".env"},
		"inherit": {"command": "x", "inheritEnv": ["A", "AWS_*"]},
		"inherit-all": {"command": "x", "inheritEnv": true},
		"inherit-none": {"command": "x", "inheritEnv": false},
		"url": {"url": "https://user:pw@a.example/x?key=1&b=${B:-c}#f"},
		"type": {"type": "sse", "url": "https://a.example"}, "stdio": {"type": "stdio", "command": "x"},
		"headers": {"url": "https://a.example", "headers": {"B": "b", "A": "Bearer ${T}"}},
		"oauth-off": {"url": "https://a.example", "oauth": false},
		"oauth-on": {"url": "https://a.example", "oauth": true},
		"oauth": {"url": "https://a.example", "oauth": {"clientId": "me", "clientSecret": "s<>", "issuer":
			"https://i.example?x=1", "scope": "a b", "redirectUri": "http://127.0.0.1:1/x", "grantType":
			"client_credentials", "allowPrivate": true}},
		"oauth-private": {"url": "https://a.example", "oauth": {"allowPrivate": true}},
		"oauth-disabled": {"url": "https://a.example", "oauth": {"enabled": false, "clientId": "me"}},
		"auth": {"url": "https://a.example", "auth": {"CLIENT_ID": "me", "scopes": ["a", "b"], "callbackPort": 8123}},
		"tls": {"url": "https://a.example", "tlsCA": "ca", "tlsClientCert": "c", "tlsClientKey": "k"},
		"modern": {"command": "x", "era": "modern"}, "legacy": {"command": "x", "era": "legacy"},
		"auto": {"command": "x", "protocolEra": "auto"},
		"times": {"command": "x", "startTimeoutMs": 1000, "callTimeoutMs": 2500, "idleStop": "1h30m"},
		"no-times": {"command": "x", "startTimeoutMs": 0, "callTimeoutMs": 0, "idleStop": 0},
		"idle": {"command": "x", "idleStop": "10m"}, "idle-fraction": {"command": "x", "idleStop": "1.5s"},
		"timeout": {"command": "x", "timeout": 5000},
		"session": {"command": "x", "perSession": true}, "required": {"command": "x", "required": true},
		"sizes": {"command": "x", "maxArguments": 1000, "maxResult": 2000},
		"disabled": {"command": "x", "disabled": true}, "enabled": {"command": "x", "enabled": false},
		"allow": {"command": "x", "tools": ["a*", "b"]}, "allow-none": {"command": "x", "tools": []},
		"deny": {"command": "x", "tools": {"deny": ["a"]}},
		"both": {"command": "x", "includeTools": ["a"], "excludeTools": ["b"]},
		"filter": {"command": "x", "options": {"disabled": true, "toolFilter": {"mode": "block", "list": ["a"]}}},
		"unknown": {"command": "x", "other": {"a": [1, 2]}, "more": "text"},
		"all": {"tools": {"allow": ["a"], "deny": ["b"]}, "disabled": true, "maxResult": 3,
			"maxArguments": 2, "required": true, "perSession": true, "idleStop": "5m", "callTimeoutMs": 2,
			"startTimeoutMs": 1, "era": "legacy", "inheritEnv": ["I"], "envFile": "e", "env": {"E": "v"},
			"cwd": "d", "args": ["a"], "command": "c", "type": "local"},
		"all-http": {"tools": {"allow": ["a"]}, "required": true, "era": "modern", "url": "http://a.example",
			"headers": {"H": "v"}, "oauth": {"clientId": "me"}, "tlsCA": "ca", "args": ["a"], "cwd": "d"}}}`,
	`{"mcpServers": {"overrides": {"command": "x", "overrides": {"list": {"tags": ["t"], "hidden": true, "maxResultSizeChars": 9,
		"arguments": {"b": {"default": {"x": [1.50, "é"]}, "name": "c"}, "a": {"value": "s3cret", "hidden": true}},
		"annotations": {"openWorldHint": false, "readOnlyHint": true}, "description": "D", "title": "T", "name": "n"},
		"prompt:p": {"title": "P"}, "resource:mem://a": {}}}}}`,
	`{"mcp": {"a": {"type": "local", "command": ["x", "{env:A}"], "environment": {"B": "{env:B}"}, "timeout": 3000},
		"b": {"type": "remote", "url": "https://a.example", "enabled": false}}}`,
	`{"context_servers": {"a": {"command": {"path": "x", "args": ["y"], "env": {"A": "b"}}, "timeout": 9}}}`,
	codexFile,
}

// The digests and encoded forms of definitions never change, because users' trust and pins depend
// on them.
func TestDigests(t *testing.T) {
	var b strings.Builder
	write := func(s *Server) {
		fmt.Fprintf(&b, "%s %s\n  shown    %s\n  settings %v\n  digest   %s\n  trust    %s\n", s.ID,
			s.JSON(), s.Redacted().JSON(), settings(s), s.Digest(), s.TrustDigest())
	}
	for _, text := range digestFiles {
		f := Parse(world(nil, nil), Source{Path: "f", Workspace: "/project", Rename: true},
			[]byte(text))
		assert.NilError(t, f.Err())
		for _, s := range f.Servers {
			write(s)
		}
	}
	for _, s := range []*Server{
		{ID: "zero"},
		{ID: "empty", Args: []string{}, Env: map[string]string{}, Headers: map[string]string{},
			InheritEnv: []string{}, OAuth: &OAuth{}, Filter: host.Filter{Deny: []string{}}},
		{ID: "bytes", Workspace: "/a<b>", Command: "a\xff\u2028\x01\"\\", Dir: "é&"},
		{ID: "two", Command: "x", URL: "http://a.example", Era: mcp.Modern},
		{ID: "negative", Command: "x", StartTimeout: -1, CallTimeout: -time.Hour, IdleStop: -1},
		{ID: "fraction", Command: "x", StartTimeout: 1, CallTimeout: time.Millisecond + 1, IdleStop: 1},
		{ID: "filter", Command: "x", Filter: host.Filter{Allow: []string{}, Deny: []string{"a"}}},
		{ID: "credentials", URL: "http://a.example", OAuth: &OAuth{ClientID: "ghp_0123456789abcdefghij",
			ClientSecret: "x\u2029", Issuer: "${I:-secret}", ClientCredentials: true}},
	} {
		write(s)
	}
	p := &Profile{Name: "p", Workspace: "/project", Servers: []string{"a", "b"}}
	fmt.Fprintf(&b, "profile\n  trust    %s\n", p.TrustDigest())
	golden.Assert(t, b.String(), "digests.golden")
}

// settings returns the Settings of a server as text.
func settings(s *Server) (all []string) {
	for name, value := range s.Settings() {
		all = append(all, "{"+name+" "+value+"}")
	}
	return all
}
