package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// world is an environment in which there are only these variables and files. Names are written as
// on Unix; a path of this system is one of [slashed].
func world(variables, files map[string]string) *Environment {
	return &Environment{
		Dir: native("/project"), Home: native("/home/ada"),
		LookupEnv: func(name string) (string, bool) {
			value, ok := variables[name]
			return native(value), ok
		},
		ReadFile: func(path string) ([]byte, error) {
			if content, ok := files[slashed(path)]; ok {
				return []byte(content), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Exists: func(path string) bool { _, ok := files[slashed(path)]; return ok },
	}
}

// userDir is where the user's own file is in a world, as on Unix.
var userDir = slashed(filepath.Dir(UserFile(world(nil, nil))))

// native is a path of this system for one of Unix that begins with /. Any other text is left alone.
func native(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return drive + filepath.FromSlash(path)
}

// slashed is a text with the paths of Unix in the place of those of this system.
func slashed(text string) string { return filepath.ToSlash(strings.ReplaceAll(text, drive, "")) }

func parse(text string) *File {
	env := world(nil,
		map[string]string{"/project/My Server/run": "", "/home/ada/My Server/run": "",
			"/opt/My Server/run": ""})
	return Parse(env, Source{Path: "f.json", Workspace: native("/project")}, []byte(text))
}

// shown is all of a file's servers and what is wrong with it, line by line.
func shown(f *File) string {
	var b strings.Builder
	for _, s := range f.Servers {
		if s.Err == nil {
			fmt.Fprintf(&b, "%s %s\n", s.ID, s.JSON())
		} else {
			fmt.Fprintf(&b, "%s broken\n", s.ID)
		}
	}
	for _, d := range f.Diagnostics {
		fmt.Fprintf(&b, "%v: %v\n", d.Severity, d)
	}
	return b.String()
}

// Parse reads the files of each application.
func TestApplications(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"Claude Desktop", `{
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
    },
    "github": {"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/server"], "env": {"GITHUB_TOKEN": "abc"}}
  },
  "globalShortcut": ""
}`, `filesystem {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/Users/ada/Desktop"]}
github {"command":"docker","args":["run","-i","--rm","-e","GITHUB_TOKEN","ghcr.io/github/server"],"env":{"GITHUB_TOKEN":"abc"}}
`},
		{"Claude Code", `{"mcpServers": {
  "api": {"type": "http", "url": "${API_BASE:-https://api.example.com}/mcp", "headers": {"Authorization": "Bearer ${API_KEY}"}, "timeout": 9.0e4},
  "old": {"type": "sse", "url": "https://example.com/sse", "timeout": 60},
  "db": {"type": "stdio", "command": "./db", "args": [], "env": {"CACHE": "/tmp"}, "alwaysLoad": true}
}}`, `api {"type":"http","url":"${API_BASE:-https://api.example.com}/mcp","headers":{"Authorization":"Bearer ${API_KEY}"},"callTimeoutMs":90000}
old {"type":"http","url":"https://example.com/sse"}
db {"command":"./db","env":{"CACHE":"/tmp"},"alwaysLoad":true}
warning: f.json:3:71: server "old": timeout is not used: in milliseconds it is too short; write callTimeoutMs
warning: f.json:4:84: server "db": unknown field "alwaysLoad"; it does nothing here
`},
		{"Claude Code's settings",
			`{"numStartups": 7, "projects": {"/elsewhere": {"mcpServers": {"no": {"command": "no"}}}, "/project": {"mcpServers": {"yes": {"command": "yes"}}}}}`,
			"yes {\"command\":\"yes\"}\n"},
		{"VS Code", `// Servers
{
	"inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true}],
	"servers": {
		"perplexity": {
			"type": "stdio",
			"command": "npx",
			"args": ["-y", "server-perplexity-ask",],
			"env": {"KEY": "${input:key}"},
			"envFile": "${workspaceFolder}/.env",
			"dev": {"watch": "**/*.ts"},
		},
		"fetch": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${input:key}"}},
		"socket": {"type": "http", "url": "unix:///tmp/x.sock#/mcp"}
	}
}`, `perplexity {"command":"npx","args":["-y","server-perplexity-ask"],"env":{"KEY":"${input:key}"},"envFile":"${workspaceFolder}/.env","dev":{"watch":"**/*.ts"}}
fetch {"type":"http","url":"https://example.com/mcp","headers":{"X-Key":"${input:key}"}}
socket broken
warning: f.json:11:4: server "perplexity": unknown field "dev"; it does nothing here
error: f.json:14:3: server "socket": its URL is for a socket, which is not supported; use http: or https:
`},
		{"VS Code's older settings",
			`{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"a": {"command": "a", "args": ["x"]}}}}`,
			"a {\"command\":\"a\",\"args\":[\"x\"]}\n"},
		{"Cursor", `{"mcpServers": {"linear": {"command": "npx", "args": ["mcp-remote", "https://example.com/sse"], "env": {"A": "${env:A}"}, "envFile": ".env"}, "web": {"url": "http://localhost:3000/sse"},
  "static": {"url": "https://example.com/mcp", "auth": {"CLIENT_ID": "${env:ID}", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["read", "write"]}}, "token": {"url": "https://example.com/mcp", "auth": "x"}}}`,
			`linear {"command":"npx","args":["mcp-remote","https://example.com/sse"],"env":{"A":"${env:A}"},"envFile":".env"}
web {"type":"http","url":"http://localhost:3000/sse"}
static broken
token {"type":"http","url":"https://example.com/mcp","auth":"x"}
error: f.json:2:56: server "static": oauth has a clientSecret but no issuer that may receive it: add "issuer": the URL of the authorization server that has registered the client
warning: f.json:2:192: server "token": unknown field "auth"; it does nothing here
`},
		{"opencode", `{
  "$schema": "https://opencode.ai/config.json",
  "theme": "x",
  "mcp": {
    "local": {"type": "local", "command": ["bun", "x", "my-mcp"], "environment": {"KEY": "{env:MY_KEY}"}, "enabled": true, "timeout": 9000},
    "off": {"type": "remote", "url": "https://{env:HOST}/mcp", "headers": {"Authorization": "Bearer {env:TOKEN}"}, "enabled": false, "oauth": false}
  }
}`, `local {"command":"bun","args":["x","my-mcp"],"env":{"KEY":"${env:MY_KEY}"},"startTimeoutMs":9000}
off {"type":"http","url":"https://${env:HOST}/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"},"oauth":false,"disabled":true}
`},
		{"oauth", `{"mcp": {
  "a": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "{env:ID}", "clientSecret": "{env:SECRET}", "issuer": "https://{env:AS}", "scope": "a b"}},
  "b": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"client_id": "x", "client_secret": "y", "callback_port": 8123}},
  "c": {"type": "remote", "url": "https://example.com/mcp", "oauth": {}},
  "d": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"scopes": ["a", "b"], "redirectUrl": "http://localhost:1/x", "other": 1}},
  "e": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientSecret": "y"}},
  "f": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"callbackPort": 70000}},
  "g": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"callbackPort": 1, "redirectUri": "http://localhost/"}},
  "h": {"type": "remote", "url": "https://example.com/mcp", "oauth": "yes"},
  "i": {"type": "local", "command": ["x"], "oauth": true},
  "j": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "a", "clientSecret": "b", "issuer": "https://a.example", "grantType": "client_credentials"}},
  "k": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "a", "grantType": "authorization_code", "allowPrivate": true}},
  "l": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "a", "grant_type": "client_credentials"}},
  "m": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"grantType": "password"}},
  "n": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"enabled": false, "clientId": "a"}},
  "o": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"enabled": "no"}},
  "p": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"issuer": "https://a.example"}},
  "q": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"enabled": false, "clientId": "a", "clientSecret": "b"}},
  "r": {"type": "remote", "url": "https://example.com/mcp", "oauth": {"clientId": "a", "issuer": "https://a.example", "callbackPort": 1}}
}}`, `a {"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"${env:ID}","clientSecret":"${env:SECRET}","issuer":"https://${env:AS}","scope":"a b"}}
b broken
c {"type":"http","url":"https://example.com/mcp","oauth":{}}
d {"type":"http","url":"https://example.com/mcp","oauth":{"scope":"a b","redirectUri":"http://localhost:1/x"}}
e broken
f broken
g broken
h broken
i {"command":"x","oauth":{}}
j {"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"a","clientSecret":"b","issuer":"https://a.example","grantType":"client_credentials"}}
k {"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"a","allowPrivate":true}}
l broken
m broken
n {"type":"http","url":"https://example.com/mcp","oauth":false}
o broken
p {"type":"http","url":"https://example.com/mcp","oauth":{"issuer":"https://a.example"}}
q {"type":"http","url":"https://example.com/mcp","oauth":false}
r {"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"a","issuer":"https://a.example","redirectUri":"http://127.0.0.1:1/callback"}}
error: f.json:3:70: server "b": oauth has a clientSecret but no issuer that may receive it: add "issuer": the URL of the authorization server that has registered the client
warning: f.json:5:132: server "d": unknown field "oauth.other"; it does nothing here
error: f.json:6:70: server "e": oauth has a clientSecret but no clientId
error: f.json:7:87: server "f": oauth.callbackPort must be a port from 1 to 65535
error: f.json:8:70: server "g": oauth has a redirectUri and a port; remove one of them
error: f.json:9:70: server "h": oauth must be true, false or an object, not text
warning: f.json:10:3: server "i": oauth is for servers with a URL; it does nothing here
error: f.json:13:70: server "l": oauth has the grantType client_credentials but no clientId and clientSecret
error: f.json:14:84: server "m": oauth.grantType must be authorization_code or client_credentials
error: f.json:16:82: server "o": oauth.enabled must be true or false, not text
`},
		{"opencode 2", `{"mcp": {"timeout": 7000, "servers": {"a": {"type": "local", "command": ["a"]}, "b": {"type": "local", "command": ["b"], "disabled": true, "timeout": 2000}}}}`,
			`a {"command":"a","startTimeoutMs":7000}
b {"command":"b","startTimeoutMs":2000,"disabled":true}
`},
		{"a server of opencode called servers",
			`{"mcp": {"servers": {"type": "local", "command": ["a"]}}}`,
			"servers {\"command\":\"a\"}\n"},
		{"opencode in one file",
			`{"fs": {"type": "local", "command": ["a", "b"]}, "web": {"url": "https://example.com/mcp"}}`,
			"fs {\"command\":\"a\",\"args\":[\"b\"]}\nweb {\"type\":\"http\",\"url\":\"https://example.com/mcp\"}\n"},
		{"Windsurf", `{"mcpServers": {"a": {"serverUrl": "https://example.com/mcp", "headers": {"X": "${env:X}"}, "disabled": true, "disabledTools": ["rm", "what"]}}}`,
			`a {"type":"http","url":"https://example.com/mcp","headers":{"X":"${env:X}"},"disabled":true,"tools":{"deny":["rm","what"]}}` +
				"\n"},
		{"Zed", `{"theme": "One", "profiles": {"x": {"vim": true}}, "context_servers": {
  "a": {"source": "custom", "command": "a", "args": ["b"], "env": {}, "timeout": 120},
  "b": {"enabled": false, "url": "https://example.com/mcp", "timeout": 5},
}}`, `a {"command":"a","args":["b"],"callTimeoutMs":120000,"source":"custom"}
b {"type":"http","url":"https://example.com/mcp","callTimeoutMs":5000,"disabled":true}
warning: f.json:2:9: server "a": unknown field "source"; it does nothing here
`},
		{"Zed's older form", `{"context_servers": {
  "a": {"command": {"path": "a", "args": ["b"], "env": {"K": "v"}}, "settings": {}},
  "b": {"command": {"path": "b", "args": [], "env": null, "timeout": 1}},
  "c": {"settings": {"database_url": "x"}},
  "d": {"source": "extension", "enabled": true, "settings": {}},
  "e": {"command": {"args": []}},
}}`, `a {"command":"a","args":["b"],"env":{"K":"v"},"settings":{}}
b {"command":"b"}
e broken
warning: f.json:2:69: server "a": unknown field "settings"; it does nothing here
warning: f.json:3:59: server "b": unknown field "command.timeout"; it does nothing here
warning: f.json:4:3: "c" is a server of an extension, which only its application can start
warning: f.json:5:3: "d" is a server of an extension, which only its application can start
error: f.json:6:3: server "e": it has neither a command nor a URL
`},
		{"Gemini", `{"mcpServers": {"a": {"httpUrl": "https://example.com/mcp", "timeout": 600000, "includeTools": ["x*"], "excludeTools": ["y"]}}, "general": {}}`,
			`a {"type":"http","url":"https://example.com/mcp","callTimeoutMs":600000,"tools":{"allow":["x*"],"deny":["y"]}}` +
				"\n"},
		{"Copilot", `{"mcpServers": {"a": {"type": "local", "command": "a", "args": [], "tools": ["*"]}}}`,
			"a {\"command\":\"a\",\"tools\":{\"allow\":[\"*\"]}}\n"},
		{"Crush", `{"$schema": "x", "mcp": {"fs": {"type": "stdio", "command": "node", "args": ["/x.js"], "timeout": 120, "disabled": false}}}`,
			"fs {\"command\":\"node\",\"args\":[\"/x.js\"]}\nwarning: f.json:1:99: server \"fs\": timeout is not used: in milliseconds it is too short; write startTimeoutMs\n"},
		{"mcp-proxy", `{"mcpProxy": {"addr": ":9090"}, "mcpServers": {
  "github": {"command": "npx", "args": ["-y", "x"], "env": {"T": "<T>"}, "options": {"toolFilter": {"mode": "block", "list": ["create_repository"]}, "logEnabled": true}},
  "amap": {"url": "https://example.com/sse", "transportType": "streamable-http", "timeout": 5000000000, "options": {"disabled": true, "toolFilter": {"mode": "allow", "list": ["a"]}}},
  "open": {"command": "x", "options": {"toolFilter": {"mode": "blokc", "list": ["a"]}}}
}}`, `github {"command":"npx","args":["-y","x"],"env":{"T":"<T>"},"tools":{"deny":["create_repository"]}}
amap {"type":"http","url":"https://example.com/sse","callTimeoutMs":5000,"disabled":true,"tools":{"allow":["a"]}}
open broken
error: f.json:4:63: server "open": options.toolFilter.mode must be allow or block
`},
		{"Inspector", `{"mcpServers": {"a": {"type": "streamable-http", "url": "https://example.com/mcp", "protocolEra": "legacy"}}}`,
			"a {\"type\":\"http\",\"url\":\"https://example.com/mcp\",\"era\":\"legacy\"}\n"},
		{"Dispatch", `{
  "servers": {
    "freecad": {"command": "uvx", "args": ["freecad-mcp"], "env": {"FREECAD_RPC_HOST": "localhost"}},
    "chrome-devtools": {"command": "npx", "args": ["chrome-devtools-mcp@latest"]},
    "remote-freecad": {"transport": "http", "url": "http://192.168.1.100:9876/mcp"}
  }
}`, `freecad {"command":"uvx","args":["freecad-mcp"],"env":{"FREECAD_RPC_HOST":"localhost"}}
chrome-devtools {"command":"npx","args":["chrome-devtools-mcp@latest"]}
remote-freecad {"type":"http","url":"http://192.168.1.100:9876/mcp"}
`},
		{"Dispatch's opencode.json",
			`{"mcp": {"freecad": {"command": "uvx", "args": ["freecad-mcp"]}}}`,
			"freecad {\"command\":\"uvx\",\"args\":[\"freecad-mcp\"]}\n"},
		{"stdwire", `{
  "mcpServers": {
    "all": {
      "command": "x", "args": ["y"], "cwd": "sub", "env": {"B": "2", "A": "1"}, "envFile": ".env", "inheritEnv": ["AWS_*"], "era": "modern",
      "startTimeoutMs": 1000, "callTimeoutMs": 0, "idleStop": "10m", "perSession": true, "required": true, "maxArguments": 100, "maxResult": 1073741824, "disabled": true, "tools": {"allow": ["read_*"], "deny": ["read_secret"]}
    },
    "least": {"command": "x", "inheritEnv": true, "idleStop": 0, "tools": {"allow": []}, "era": "auto"},
    "cached": {"command": "x", "cacheResults": "5m", "cacheScope": "public"},
    "uncached": {"command": "x", "cacheResults": 0, "cacheScope": "private"},
    "text": {"command": "x", "maxResultText": 20000},
    "texts": {"command": "x", "maxResultText": {"*": 20000, "big.tool": 0, "log": 2000}}
  },
  "profiles": {"web": ["all", "least"]}
}`, `all {"command":"x","args":["y"],"cwd":"sub","env":{"A":"1","B":"2"},"envFile":".env","inheritEnv":["AWS_*"],"era":"modern","startTimeoutMs":1000,"callTimeoutMs":0,"idleStop":"10m","perSession":true,"required":true,"maxArguments":100,"maxResult":1073741824,"disabled":true,"tools":{"allow":["read_*"],"deny":["read_secret"]}}
least {"command":"x","inheritEnv":["*"],"idleStop":"0s","tools":{"allow":[]}}
cached {"command":"x","cacheResults":"5m","cacheScope":"public"}
uncached {"command":"x"}
text {"command":"x","maxResultText":20000}
texts {"command":"x","maxResultText":{"*":20000,"big.tool":0,"log":2000}}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := strings.ReplaceAll(tt.file, `"/project"`, `"`+drive+`/project"`)
			f := parse(file)
			assert.Equal(t, shown(f), tt.want)
			checkSchema(t, file, f)
			assert.Assert(t, f.Keys != "")

			// What is written down in stdwire's own form is the same.
			var whole []*Server
			for _, s := range f.Servers {
				if s.Err == nil {
					whole = append(whole, s)
				}
			}
			text := Encode(whole, f.Inputs, f.Profiles)
			again := parse(string(text))
			assert.Equal(t, again.Err(), nil)
			assert.Equal(t, string(Encode(again.Servers, again.Inputs, again.Profiles)),
				string(text))
			for i, s := range again.Servers {
				assert.Equal(t, s.Digest(), whole[i].Digest())
			}
		})
	}
}

func TestSettings(t *testing.T) {
	f := parse(`{"inputs": [{"id": "key", "description": "Key", "password": true}, {"id": 1}], "servers": {"a": {
		"command": "x", "era": "legacy", "startTimeoutMs": 1500, "callTimeoutMs": 0, "idleStop": "1h30m", "perSession": true}}}`)
	s := f.Servers[0]
	assert.Equal(t, s.Position.String(), "f.json:1:92")
	assert.Equal(t, s.Era, mcp.Legacy)
	assert.Equal(t, s.StartTimeout, 1500*time.Millisecond)
	assert.Equal(t, s.CallTimeout, time.Duration(-1))
	assert.Equal(t, s.IdleStop, 90*time.Minute)
	assert.Assert(t, s.PerSession)
	assert.DeepEqual(t, s.Inputs, map[string]Input{"key": {"key", "Key", true}})
	assert.Equal(t, shown(f),
		"a {\"command\":\"x\",\"era\":\"legacy\",\"startTimeoutMs\":1500,\"callTimeoutMs\":0,\"idleStop\":\"1h30m\",\"perSession\":true}\nwarning: f.json:1:68: an input without an id is ignored\n")
}

// Each invalid server or file causes the right diagnostic.
func TestDiagnostics(t *testing.T) {
	for _, tt := range []struct{ server, want string }{
		{`{"command": "x", "commnd": "y"}`,
			`warning: f.json:1:36: server "s": unknown field "commnd"; did you mean command?`},
		{`{"command": "x", "enviroment": {"A": "secret"}}`,
			`warning: f.json:1:36: server "s": unknown field "enviroment"; did you mean environment?`},
		{`{"command": "x", "$comment": 1, "description": "d"}`, ""},
		{`{"command": "x", "command": "y"}`,
			`error: f.json:1:36: server "s": "command" is already defined at 1:20; remove one of them`},
		{`{"command": "x", "env": {"A": "secret", "A": "secret2"}}`,
			`error: f.json:1:59: server "s": "A" is already defined at 1:44; remove one of them`},
		{`{"url": "http://x", "serverUrl": "http://x"}`,
			`error: f.json:1:39: server "s": "serverUrl" means the same as "url" at 1:20; remove one of them`},
		{`{}`, `error: f.json:1:14: server "s": it has neither a command nor a URL`},
		{`{"command": ""}`, `error: f.json:1:14: server "s": it has neither a command nor a URL`},
		{`{"command": "x", "url": "http://x"}`,
			`error: f.json:1:14: server "s": it has a command and a URL; remove one of them`},
		{`{"type": "stdio", "url": "http://x"}`,
			`error: f.json:1:14: server "s": its type is stdio, but it has a URL instead of a command`},
		{`{"type": "Streamable_HTTP", "command": "x"}`,
			`error: f.json:1:14: server "s": its type is HTTP, but it has a command instead of a URL`},
		{`{"type": "websocket", "url": "http://x"}`,
			`error: f.json:1:28: server "s": type: "websocket" is not a transport; write stdio or http`},
		{`{"type": "stdoi", "command": "x"}`,
			`error: f.json:1:28: server "s": type: "stdoi" is not a transport; write stdio`},
		{`{"url": "http://u:secret@[x"}`, `error: f.json:1:14: server "s": its URL is invalid`},
		{`{"url": "ftp://secret@x"}`,
			`error: f.json:1:14: server "s": its URL must be an http: or https: URL`},
		{`{"url": "secret"}`,
			`error: f.json:1:14: server "s": its URL must be an http: or https: URL`},
		{`{"url": "http://x", "env": {}}`,
			`warning: f.json:1:14: server "s": args, env, envFile, inheritEnv and cwd are for servers with a command; they do nothing here`},
		{`{"command": "x", "headers": {}}`,
			`warning: f.json:1:14: server "s": headers are for servers with a URL; they do nothing here`},
		{`{"url": "http://x", "headers": {"a b": "secret"}}`,
			`error: f.json:1:50: server "s": headers: "a …" cannot be the name of a header`},
		{`{"url": "http://x", "headers": {"x-a": "secret", "X-A": ""}}`,
			`error: f.json:1:50: server "s": headers: "X-A" and "x-a" are the same header; remove one of them`},
		{`{"command": "x", "env": {"A=secret": ""}}`,
			`error: f.json:1:43: server "s": env: "A=…" cannot be the name of a variable`},
		{`{"command": "x", "env": {"A": ["secret"]}}`,
			`error: f.json:1:49: server "s": env."A" must be text, not an array`},
		{`{"command": "x", "env": ["secret"]}`,
			`error: f.json:1:43: server "s": env must be an object of texts, not an array`},
		{`{"command": "x", "args": "secret"}`,
			`error: f.json:1:44: server "s": args must be an array of texts, not text`},
		{`{"command": "x", "args": ["a", null]}`,
			`error: f.json:1:50: server "s": args[1] must be text, not null`},
		{`{"command": []}`,
			`error: f.json:1:31: server "s": the first element of command must be the program`},
		{`{"command": 5}`, `error: f.json:1:31: server "s": command must be text, not a number`},
		{`{"command": "x", "disabled": "yes"}`,
			`error: f.json:1:48: server "s": disabled must be true or false, not text`},
		{`{"command": "x", "inheritEnv": "HOME"}`,
			`error: f.json:1:50: server "s": inheritEnv must be true, or an array of names such as "AWS_*", not text`},
		{`{"command": "x", "inheritEnv": ["A["]}`,
			`error: f.json:1:50: server "s": inheritEnv: "A[" is not a pattern`},
		{`{"command": "x", "era": "new"}`,
			`error: f.json:1:43: server "s": era: "new" is not auto, modern or legacy`},
		{`{"command": "x", "callTimeoutMs": 1.5}`,
			`error: f.json:1:53: server "s": callTimeoutMs must be a whole number of milliseconds, 30 days at most; 0 means no limit`},
		{`{"command": "x", "callTimeoutMs": -1}`,
			`error: f.json:1:53: server "s": callTimeoutMs must be a whole number of milliseconds, 30 days at most; 0 means no limit`},
		{`{"command": "x", "startTimeoutMs": 99999999999999}`,
			`error: f.json:1:54: server "s": startTimeoutMs must be a whole number of milliseconds, 30 days at most; 0 means no limit`},
		{`{"command": "x", "timeout": "9s"}`,
			`error: f.json:1:47: server "s": timeout must be a whole number of milliseconds, 30 days at most; 0 means no limit`},
		{`{"command": "x", "maxArguments": 0}`,
			`error: f.json:1:52: server "s": maxArguments must be a whole number of bytes, from 1 to 1073741824`},
		{`{"command": "x", "maxResult": "1MiB"}`,
			`error: f.json:1:49: server "s": maxResult must be a whole number of bytes, from 1 to 1073741824`},
		{`{"command": "x", "cacheResults": 5}`,
			`error: f.json:1:52: server "s": cacheResults must be text, not a number`},
		{`{"command": "x", "cacheScope": "all"}`,
			`error: f.json:1:50: server "s": cacheScope: "all" is neither private nor public`},
		{`{"command": "x", "maxResultText": 1999}`,
			`error: f.json:1:53: server "s": maxResultText must be a whole number of characters, from 2000 to 1073741824, or 0`},
		{`{"command": "x", "maxResultText": {"a": "1"}}`,
			`error: f.json:1:59: server "s": maxResultText.a must be a whole number of characters, from 2000 to 1073741824, or 0`},
		{`{"command": "x", "idleStop": 600}`,
			`error: f.json:1:48: server "s": idleStop must be text, not a number`},
		{`{"command": "x", "idleStop": "soon"}`,
			`error: f.json:1:48: server "s": idleStop must be a duration such as "10m" or "1h30m", 30 days at most; 0 means never`},
		{`{"command": "x", "tools": {"allow": ["["]}}`,
			`error: f.json:1:55: server "s": tools.allow: the pattern "[" has characters that no tool name has: only '*' and '?' are special`},
		{`{"command": "x", "tools": {"deny": [""]}}`,
			`error: f.json:1:54: server "s": tools.deny: a pattern for tool names is empty`},
		{`{"command": "x", "tools": {"alow": []}}`,
			`error: f.json:1:46: server "s": tools has allow, deny and listed, and no "alow"`},
		{`{"command": "x", "tools": {"allow": "*"}}`,
			`error: f.json:1:55: server "s": tools.allow must be an array of texts, not text`},
		{`{"command": "x", "tools": true}`,
			`error: f.json:1:45: server "s": tools must be {allow: […], deny: […]} with patterns of tools' names, not true or false`},
		{`{"command": "x", "tools": ["a"], "includeTools": ["b"]}`,
			`error: f.json:1:68: server "s": includeTools: another field has already said which tools are allowed; remove one of them`},
		{`{"command": "x", "options": 1}`,
			`error: f.json:1:47: server "s": options must be an object, not a number`},
		{`{"command": "x", "args": [true, 8080, -1.5]}`, ""},
		{`{"command": "x", "options": {"toolFilter": {"mode": "allow"}}}`,
			`error: f.json:1:62: server "s": options.toolFilter must be {mode: allow or block, list: […]}`},
		{`"x"`, `error: f.json:1:19: server "s": a server must be an object, not text`},
		{`{"command": "npx -y foo"}`,
			`warning: f.json:1:31: server "s": command contains spaces and is not a file: it is split; write its arguments as args`},
		{`{"command": "` + drive + `/opt/My Server/run"}`, ""},
		{`{"command": "My Server/run"}`, ""}, {`{"command": "~/My Server/run"}`, ""},
		{`{"command": "${HOME}/My Server/run"}`, ""},
		{`{"command": "say 'x"}`,
			`warning: f.json:1:31: server "s": command contains spaces and is not a file`},
	} {
		file := `{"servers": {"s": ` + tt.server + `}}`
		f := parse(file)
		checkSchema(t, file, f)
		var got []string
		for _, d := range f.Diagnostics {
			got = append(got, fmt.Sprintf("%v: %v", d.Severity, d))
		}
		// The first is what counts; others may follow from it.
		if len(got) > 1 && strings.HasPrefix(got[0], "error") {
			got = got[:1]
		}
		assert.Equal(t, strings.Join(got, "\n"), tt.want, tt.server)
		assert.Equal(t, f.Servers[0].Err != nil, strings.HasPrefix(tt.want, "error"), tt.server)
		assert.NilError(t, f.Err(), tt.server)
		assert.Assert(t, !strings.Contains(strings.Join(got, ""), "secret"), got)
	}
}

func TestFiles(t *testing.T) {
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	for _, tt := range []struct{ file, want string }{
		{"", ""}, {"// nothing\n", ""}, {"{}", ""}, {`{"servers": {}}`, ""}, {`{"mcp": {}}`, ""},
		{`[]`, "error: f.json:1:1: the file must be an object, not an array\n"},
		{`{"mcpServers": []}`,
			"error: f.json:1:16: mcpServers must be an object of servers by their ids, not an array\n"},
		{`{"x": 1}`, "warning: f.json:1:1: the file has no servers: there is nothing under mcpServers, servers, context_servers, mcp.servers and mcp\n"},
		{`{"mcpservers": {"a": {"command": "x"}}}`,
			"warning: f.json:1:2: the file has no servers under mcpServers, servers, context_servers, mcp.servers and mcp; \"mcpservers\" is none of these: did you mean mcpServers?\n"},
		{`{"mcp": {"enabled": true}}`,
			"warning: f.json:1:1: the file has no servers: there is nothing under mcpServers, servers, context_servers, mcp.servers and mcp\n"},
		{`{"servers": {"b": {"command": "b"}}, "mcpServers": {"a": {"command": "a"}}}`,
			"a {\"command\":\"a\"}\nwarning: f.json:1:13: the servers under servers are not used: those under mcpServers are\n"},
		{`{"servers": {}, "servers": {}}`,
			"error: f.json:1:17: \"servers\" is already defined at 1:2; remove one of them\n"},
		{`{"servers": {"a": {"command": "a"}, "a": {"command": "b"}}}`,
			"a {\"command\":\"a\"}\nerror: f.json:1:37: \"a\" is already defined at 1:14; remove one of them\n"},
		{`{"servers": {"$schema": "x", "a": {"command": "a"}, "A": {"command": "a"}}}`,
			"a {\"command\":\"a\"}\nA {\"command\":\"a\"}\nwarning: f.json:1:53: server \"A\": its id differs from \"a\" only in case\n"},
		{`{"servers": {"a__b": {"command": "a"}, "Figma Dev Mode": {"command": "a"}, "": {"command": "a"}, "-x": {"command": "a"}}}`,
			`a__b broken
Figma Dev Mode broken
 broken
-x broken
error: f.json:1:14: server "a__b": this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __; did you mean a_b?
error: f.json:1:40: server "Figma Dev Mode": this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __; did you mean Figma-Dev-Mode?
error: f.json:1:76: this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __
error: f.json:1:98: server "-x": this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __; did you mean x?
`},
		{`{"servers": {}, "profiles": {"a b": [], "ok": ["x"], "bad": "x"}}`,
			`error: f.json:1:30: "a b" is not a valid profile name: write up to 32 letters, digits, '.', '_' and '-'
error: f.json:1:61: profiles.bad must be an array of texts, not text
`},
		{`{"servers": {}, "profiles": []}`,
			"error: f.json:1:29: profiles must be an object of arrays of servers' ids, not an array\n"},
	} {
		assert.Equal(t, shown(parse(tt.file)), tt.want, tt.file)
		checkSchema(t, tt.file, parse(tt.file))
	}
	f := parse(`{"servers": {` + many(MaxServers+5, `"s%d": {"command": "x"}`) + `}}`)
	assert.Equal(t, len(f.Servers), MaxServers)
	assert.ErrorContains(t, f.Err(), "the file has more than 256 servers")
	for _, file := range []string{
		`{"servers": {"s": {"command": "x",` + many(20_000, `"unknown%d": 1`) + `}}}`,
		`{"servers": {"s": {"command": "x", "env": {` + many(20_000, `"A": "%d"`) + `}}}}`,
		`{"servers": {"s": {"command": "x", "args": [` + many(20_000, `[%d]`) + `]}}}`,
	} {
		f = parse(file)
		assert.Equal(t, len(f.Diagnostics), maxDiagnostics+1)
		assert.ErrorContains(t, f.Err(),
			"the file has more errors; fix these first")
	}
	f = parse(`{"servers": {"s": {"command": "x"}}, "inputs": [` +
		many(maxInputs+1, `{"id": "%d"}`) + `]}`)
	assert.ErrorContains(t, f.Err(), "the file has more than 100 inputs")
	f = parse(`{"servers": {}, "profiles": {` + many(maxProfiles+1, `"p%d": []`) + `}}`)
	assert.ErrorContains(t, f.Err(), "the file has more than 256 profiles")
	f = parse(`{"servers": {}, "profiles": {"p": [` + many(MaxServers+1, `"s%d"`) + `]}}`)
	assert.ErrorContains(t, f.Err(), "profiles.p has more than 256 servers")
}

func TestIDs(t *testing.T) {
	for name, want := range map[string]string{
		"Figma Dev": "Figma-Dev", "a__b": "a_b", "__": "", "  x  ": "x", "@scope/pkg": "scope-pkg",
		"ä": "", strings.Repeat("a", 40): strings.Repeat("a", 32), "a - b": "a-b",
	} {
		assert.Equal(t, itemname.SuggestID(name), want, name)
		assert.Assert(t, want == "" || itemname.CheckID(want) == nil)
	}
	text := `{"mcpServers": {"a b": {"command": "x"}, "a.b": {"command": "x"}, "a  b": {"command": "x"}, "ä": {"command": "x"}}}`
	got := shown(Parse(world(nil, nil), Source{Path: "f.json", Rename: true}, []byte(text)))
	assert.Equal(t, got, `a-b {"command":"x"}
a.b {"command":"x"}
a  b broken
ä broken
warning: f.json:1:17: server "a-b": it was called "a b", which is not a valid id
error: f.json:1:67: server "a  b": this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __
error: f.json:1:93: server "ä": this is not a valid id: write up to 32 letters, digits, '.', '_' and '-', without __
`)
}
