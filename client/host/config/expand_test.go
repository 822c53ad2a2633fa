package config

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"gotest.tools/v3/assert"
)

// one is the only server of a file.
func one(t *testing.T, definition string) *Server {
	t.Helper()
	f := parse(`{"servers": {"s": ` + definition + `}}`)
	assert.Equal(t, len(f.Servers), 1, definition)
	assert.NilError(t, f.Servers[0].Err)
	return f.Servers[0]
}

func TestExpand(t *testing.T) {
	env := world(map[string]string{"A": "alpha", "EMPTY": "", "NESTED": "${A}",
		"STDWIRE_INPUT_API_KEY": "k1"}, nil)
	env.Inputs = map[string]string{"given": "g1"}
	for _, tt := range []struct{ arg, want string }{
		{"plain", "plain"},
		{"${A}", "alpha"},
		{"x${A}y${env:A}z", "xalphayalphaz"},
		{"${EMPTY}", ""},
		{"${EMPTY:-d}", "d"}, {"${A:-d}", "alpha"}, {"${NO:-d}", "d"}, {"${env:NO:-d e}", "d e"},
		{"${NO:-}", ""}, {"${NO:-~/x:-y}", "~/x:-y"},
		{"${NESTED}", "${A}"}, // once
		{"${workspaceFolder}/x", "/project/x"}, {"${userHome}/x", "/home/ada/x"},
		{"~/x", "/home/ada/x"}, {"~/${A}", "/home/ada/alpha"}, {"a~/x", "a~/x"}, {"~", "~"},
		{"${input:api-key}", "k1"}, {"${input:given}", "g1"},
		// What is no variable is text.
		{"$A", "$A"}, {"${}", "${}"}, {"${A", "${A"}, {"${x%pat}", "${x%pat}"},
		{"${A:0:1}", "${A:0:1}"}, {"${1}", "${1}"}, {"${A-x}", "${A-x}"}, {"{env:A}", "{env:A}"},
		{"$${A}", "$alpha"},
	} {
		s := &Server{ID: "s", Workspace: native("/project"), Command: "x", Args: []string{tt.arg}}
		e, err := s.Resolve(env)
		assert.NilError(t, err, tt.arg)
		assert.Equal(t, slashed(e.Command.Args[0]), tt.want, tt.arg)
	}
	for _, tt := range []struct{ arg, err string }{
		{"${NO}", ": server \"s\": args[0]: ${NO} is not set: set it, or write a default, as in ${NO:-text}"},
		{"${env:NO}", ": server \"s\": args[0]: ${env:NO} is not set: set it, or write a default, as in ${NO:-text}"},
		{"${NO:-${A}}", ": server \"s\": args[0]: ${NO} has a default that contains a variable, which is not supported"},
		{"${input:no}", ": server \"s\": args[0]: ${input:no} has no value: give --input no=… or set STDWIRE_INPUT_NO"},
		{"${command:x}", ": server \"s\": args[0]: ${command:x} is supported by other applications only"},
		{"${file:/etc/passwd}",
			": server \"s\": args[0]: ${file:/etc/passwd} is supported by other applications only"},
		{"${NO}${NO2}", ": server \"s\": args[0]: ${NO} is not set: set it, or write a default, as in ${NO:-text}; args[0]: ${NO2} is not set: set it, or write a default, as in ${NO2:-text}"},
	} {
		s := &Server{ID: "s", Command: "x", Args: []string{tt.arg}}
		_, err := s.Resolve(env)
		assert.Error(t, err, tt.err)
		var resolve *ResolveError
		assert.Assert(t, errors.As(err, &resolve))
		assert.Equal(t, resolve.Missing[0].Field, "args[0]")
	}
}

func TestEndpoints(t *testing.T) {
	env := world(map[string]string{"TOKEN": "t1", "HOST": "example.com", "BAD": "t1\n"},
		map[string]string{
			"/project/.env":    "# keys\nA=from file\nexport B='x # y'\n\nC=\"l1\\nl2\" # two lines\nD=plain # not this\nE=\n",
			"/project/bad.env": "A=1\nsecret\n",
		})
	s := one(t, `{"command": "~/bin/x", "args": ["--at", "${HOST}"], "cwd": "sub", "env": {"A": "wins", "T": "${TOKEN}"}, "envFile": ".env", "inheritEnv": ["X*"]}`)
	e, err := s.Resolve(env)
	assert.NilError(t, err)
	cmd := e.Command
	assert.Equal(t, slashed(cmd.Path), "/home/ada/bin/x")
	assert.DeepEqual(t, cmd.Args, []string{"--at", "example.com"})
	assert.Equal(t, slashed(cmd.Dir), "/project/sub")
	assert.DeepEqual(t, cmd.Env,
		map[string]string{"A": "wins", "B": "x # y", "C": "l1\nl2", "D": "plain", "E": "",
			"T": "t1"})
	assert.DeepEqual(t, cmd.InheritEnv, []string{"X*"})
	assert.Equal(t, e.URL, "")

	e, err = one(t, `{"command": "x"}`).Resolve(env)
	assert.NilError(t, err)
	assert.Equal(t, slashed(e.Command.Dir), "/project")

	e, err = one(t, `{"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}`).Resolve(
		env)
	assert.NilError(t, err)
	assert.Equal(t, e.URL, "https://example.com/mcp")
	assert.DeepEqual(t, e.Headers, map[string]string{"Authorization": "Bearer t1"})
	assert.Equal(t, e.Command.Path, "")
	assert.Assert(t, e.OAuth == nil)

	e, err = one(t, `{"url": "https://x", "oauth": {"clientId": "a", "clientSecret": "${TOKEN}", "issuer": "https://as.${HOST}/t", "scope": "b ${HOST}", "redirectUri": "http://[::1]:1/${HOST}"}}`).Resolve(
		env)
	assert.NilError(t, err)
	assert.Equal(t, *e.OAuth,
		OAuth{ClientID: "a", ClientSecret: "t1", Issuer: "https://as.example.com/t",
			Scope: "b example.com", RedirectURI: "http://[::1]:1/example.com"})

	for _, tt := range []struct{ definition, err string }{
		{`{"url": "http://x", "oauth": {"clientId": "${NO}"}}`,
			"f.json:1:14: server \"s\": oauth.clientId: ${NO} is not set: set it, or write a default, as in ${NO:-text}"},
		{`{"url": "http://x", "oauth": {"redirectUri": "http://${HOST}/"}}`,
			"f.json:1:14: server \"s\": oauth.redirectUri: want an http: URL of this machine, such as http://127.0.0.1:8123/callback"},
		{`{"url": "http://x", "oauth": {"redirectUri": "https://localhost/"}}`,
			"f.json:1:14: server \"s\": oauth.redirectUri: want an http: URL of this machine, such as http://127.0.0.1:8123/callback"},
		{`{"url": "http://x", "oauth": {"clientId": "a", "clientSecret": "b", "issuer": "${NO:-}"}}`,
			"f.json:1:14: server \"s\": oauth.issuer: want the https: URL of the authorization server"},
		{`{"url": "http://x", "oauth": {"clientId": "a", "issuer": "http://${HOST}/"}}`,
			"f.json:1:14: server \"s\": oauth.issuer: want the https: URL of the authorization server"},
		{`{"url": "${TOKEN}"}`,
			"f.json:1:14: server \"s\": its URL must be an http: or https: URL"},
		{`{"url": "http://x", "headers": {"A": "${BAD}"}}`,
			"f.json:1:14: server \"s\": headers.A: the value contains control characters, perhaps a line end"},
		{`{"command": "x", "envFile": "no.env"}`,
			"f.json:1:14: server \"s\": envFile: open /project/no.env: file does not exist"},
		{`{"command": "x", "envFile": "bad.env"}`,
			"f.json:1:14: server \"s\": envFile: /project/bad.env:2: this is not NAME=value"},
		{`{"command": "x", "envFile": "${NO}"}`,
			"f.json:1:14: server \"s\": envFile: ${NO} is not set: set it, or write a default, as in ${NO:-text}"},
	} {
		_, err := one(t, tt.definition).Resolve(env)
		assert.Assert(t, err != nil, tt.err)
		assert.Equal(t, slashed(err.Error()), tt.err)
	}
	_, err = one(t, `{"command": "x", "envFile": "no.env"}`).Resolve(env)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	broken := parse(`{"servers": {"s": {}}}`).Servers[0]
	_, err = broken.Resolve(env)
	assert.Equal(t, err, broken.Err)
}

// Ask is called once for each input, with its description, and may return an error.
func TestAsk(t *testing.T) {
	env := world(nil, nil)
	var asked []Input
	env.Ask = func(input Input) (string, error) {
		asked = append(asked, input)
		if input.ID == "no" {
			return "", errors.New("declined")
		}
		return "answer", nil
	}
	f := parse(`{"inputs": [{"id": "key", "description": "Key", "password": true}], "servers": {"s": {"command": "x", "args": ["${input:key}"], "env": {"K": "${input:key}", "O": "${input:other}"}}}}`)
	e, err := f.Servers[0].Resolve(env)
	assert.NilError(t, err)
	assert.Equal(t, e.Command.Env["K"], "answer")
	assert.DeepEqual(t, asked, []Input{{"key", "Key", true}, {ID: "other"}})
	_, err = one(t, `{"command": "${input:no}"}`).Resolve(env)
	assert.ErrorContains(t, err, "command: ${input:no} cannot be asked for: declined")
}

func TestEnvFiles(t *testing.T) {
	for _, tt := range []struct{ line, value, err string }{
		{"A=b", "b", ""}, {"A = b ", "b", ""}, {"A=", "", ""}, {"A=#x", "", ""},
		{"A=b#c", "b#c", ""}, {"A=b #c", "b", ""}, {"A=b=c", "b=c", ""}, {"A=b\r", "b", ""},
		{`A="b"`, "b", ""}, {`A="b\"c\\n\n"`, "b\"c\\n\n", ""}, {`A='b\n'`, `b\n`, ""},
		{`A="" # c`, "", ""}, {`A=$B`, "$B", ""}, {"\uFEFFA=b", "b", ""},
		{`A="b`, "", "1: the value has no closing quotation mark"},
		{`A="b" c`, "", "1: there is text after the end of the value"},
		{"secret", "", "1: this is not NAME=value"}, {"9=secret", "", "1: this is not NAME=value"},
		{"=secret", "", "1: this is not NAME=value"}, {"a b=c", "", "1: this is not NAME=value"},
	} {
		env, err := parseEnv(tt.line)
		if tt.err != "" {
			assert.Error(t, err, tt.err)
			continue
		}
		assert.NilError(t, err, tt.line)
		assert.DeepEqual(t, env, map[string]string{"A": tt.value})
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"npx -y foo":                 {"npx", "-y", "foo"},
		` a  "b c" 'd"e' f"g h" "" `: {"a", "b c", `d"e`, "fg h", ""}, "a\tb": {"a", "b"},
		"": nil, `C:\x y`: nil, `a "b`: nil, "a #b": nil,
	} {
		assert.DeepEqual(t, splitCommand(line), want)
	}
}

// Redacted contains no secret.
func TestRedacted(t *testing.T) {
	for _, tt := range []struct{ definition, want string }{
		{`{"command": "x", "env": {"A": "secret1", "B": "${B}", "C": "${C:-secret1}", "D": "Bearer ${D}", "E": "${E}-${input:f}", "F": ""}}`,
			`{"command":"x","env":{"A":"…","B":"${B}","C":"${C:-…}","D":"…${D}","E":"${E}…${input:f}","F":""}}`},
		{`{"url": "https://u:secret1@h.example:1/p?a=secret1&b=${B}&secret1#secret1", "headers": {"X": "secret1"}}`,
			`{"type":"http","url":"https://…@h.example:1/p?a=…&b=${B}&…#…","headers":{"X":"…"}}`},
		{`{"url": "https://h.example/s/secret1AAAAAAAAAAAAAAAA/mcp?x"}`,
			`{"type":"http","url":"https://h.example/s/…/mcp?…"}`},
		{`{"url": "${U:-https://u:secret1@h}/mcp"}`, `{"type":"http","url":"${U:-…}…"}`},
		{`{"command": "x", "args": ["--token", "secret1", "--api-key=secret1", "-p", "8080", "--key", "${K}", "--password", "--verbose"]}`,
			`{"command":"x","args":["--token","…","--api-key=…","-p","8080","--key","${K}","--password","…"]}`},
		{`{"command": "docker", "args": ["run", "-e", "TOKEN", "-e", "A=secret1", "--env", "B=secret1", "img"]}`,
			`{"command":"docker","args":["run","-e","TOKEN","-e","A=…","--env","B=…","img"]}`},
		{`{"command": "npx", "args": ["mcp-remote", "https://h.example/mcp?k=secret1", "--header", "Authorization: Bearer secret1", "-H", "X: secret1"]}`,
			`{"command":"npx","args":["mcp-remote","https://h.example/mcp?k=…","--header","…","-H","…"]}`},
		{`{"command": "npx", "args": ["server-postgres", "postgresql://ada:secret1@localhost/db", "--dsn=postgresql://ada:secret1@localhost/db", "--db=postgresql://ada:secret1@localhost/db"]}`,
			`{"command":"npx","args":["server-postgres","postgresql://…@localhost/db","--dsn=…","--db=postgresql://…@localhost/db"]}`},
		{`{"command": "x", "args": ["sk-ant-secret1aaaaaaaaaaa", "ghp_secret1aaaaaaaaaaaaa", "API_TOKEN=secret1", "PATH=/bin", "--x=sk-secret1aaaaaaaaaaaa"]}`,
			`{"command":"x","args":["…","…","API_TOKEN=…","PATH=/bin","--x=…"]}`},
		{`{"command": "x", "args": ["-y", "@scope/server-filesystem", "/home/ada", "keyboard", "--author", "me"], "other": {"clientSecret": "secret1"}}`,
			`{"command":"x","args":["-y","@scope/server-filesystem","/home/ada","keyboard","--author","…"],"other":"…"}`},
		{`{"url": "https://h.example/mcp", "oauth": {"clientId": "me", "clientSecret": "secret1${S}", "issuer": "https://secret1@a.example/t", "scope": "a"}}`,
			`{"type":"http","url":"https://h.example/mcp","oauth":{"clientId":"me","clientSecret":"…${S}","issuer":"https://…@a.example/t","scope":"a"}}`},
	} {
		s := one(t, tt.definition)
		before := string(s.JSON())
		assert.Equal(t, string(s.Redacted().JSON()), tt.want)
		assert.Equal(t, string(s.JSON()), before)
		assert.Equal(t, fmt.Sprintf("%v %+v", s, *s), "f.json:1:14 f.json:1:14")
	}
}
