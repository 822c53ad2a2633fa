package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

const described = `{
  "$schema": "` + Schema + `",
  "name": "io.github.ada/weather", "description": "Weather", "version": "1.2.3", "x": 1,
  "packages": [
    {"registryType": "npm", "registryBaseUrl": "https://registry.example", "identifier": "@ada/weather", "version": "1.2.3",
     "transport": {"type": "stdio"},
     "packageArguments": [
       {"type": "positional", "value": "serve"},
       {"type": "positional", "valueHint": "dir", "description": "Directory", "isRequired": true, "format": "filepath"},
       {"type": "positional", "valueHint": "more"},
       {"type": "named", "name": "--units", "default": "metric"},
       {"type": "named", "name": "--city", "description": "City", "isRequired": true, "choices": ["Oslo", "Rome"]},
       {"type": "named", "name": "--verbose"},
       {"type": "named", "name": "-p", "value": "{port}", "variables": {"port": {"default": "80"}}}],
     "environmentVariables": [
       {"name": "API_KEY", "description": "Key", "isRequired": true, "isSecret": true},
       {"name": "LEVEL", "default": "info"}, {"name": "OPTIONAL"}]},
    {"registryType": "pypi", "identifier": "weather", "version": "1.2.3", "runtimeHint": "sh", "transport": {"type": "stdio"}},
    {"registryType": "oci", "identifier": "docker.io/ada/weather:1.2.3", "runtimeHint": "docker", "transport": {"type": "stdio"},
     "runtimeArguments": [
       {"type": "named", "name": "--mount", "value": "type=bind,src={source},dst={target}", "isRequired": true,
        "variables": {"source": {"isRequired": true, "description": "Source"}, "target": {"default": "/project"}}},
       {"type": "named", "name": "-v", "value": "{extra}", "variables": {"extra": {}}}],
     "environmentVariables": [{"name": "API_KEY", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}}]},
    {"registryType": "oci", "identifier": "ada/weather", "version": "1", "transport": {"type": "stdio"},
     "runtimeArguments": [{"type": "positional", "value": "run"}, {"type": "named", "name": "-i"}]},
    {"registryType": "nuget", "identifier": "Ada.Weather", "version": "1.2.3", "transport": {"type": "stdio"},
     "packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "positional", "value": "{unknown}"}]},
    {"registryType": "mcpb", "identifier": "https://example.com/d/weather-1.2.3.mcpb?x=1", "fileSha256": "` +
	"0123456789012345678901234567890123456789012345678901234567890123" + `", "transport": {"type": "stdio"}},
    {"registryType": "npm", "identifier": "w", "transport": {"type": "streamable-http", "url": "http://localhost:{port}/mcp"}},
    {"registryType": "cargo", "identifier": "w", "transport": {"type": "stdio"}}
  ],
  "remotes": [
    {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
     "variables": {"tenant": {"description": "Tenant", "isRequired": true}},
     "headers": [
       {"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}},
       {"name": "X-Tenant", "value": "{tenant}"}, {"name": "X-Region", "default": "eu"}, {"name": "X-Optional"}]},
    {"type": "sse", "url": "https://example.com/sse"}
  ]
}`

func TestAlternatives(t *testing.T) {
	s, err := Parse([]byte(described))
	assert.NilError(t, err)
	var b strings.Builder
	for _, a := range s.Alternatives() {
		text, err := json.Marshal(a)
		assert.NilError(t, err)
		fmt.Fprintf(&b, "%s\n", text)
	}
	b.Write(File(s.Alternatives()[:2]))
	golden.Assert(t, b.String(), "alternatives.golden")
	wrapped, err := Parse([]byte(`{"server": ` + described + `, "_meta": {}}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, wrapped, s)
}

// A file of a stranger cannot read variables of the user's environment.
func TestVariablesOfTheEnvironment(t *testing.T) {
	for _, part := range []string{
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "${AWS_SECRET}"}]}]`,
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "packageArguments": [{"type": "named", "name": "-x", "value": "{a}", "variables": {"a": {"default": "${AWS_SECRET}"}}}]}]`,
		`"packages": [{"registryType": "npm", "identifier": "x${AWS_SECRET}", "transport": {"type": "stdio"}}]`,
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "packageArguments": [{"type": "named", "name": "--${AWS_SECRET}"}]}]`,
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "A", "value": "${AWS_SECRET}"}]}]`,
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "$", "variables": {}}, {"type": "positional", "value": "${AWS{b}", "variables": {"b": {"value": "}"}}}]}]`,
		`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "{a}{b}", "variables": {"a": {"value": "$"}, "b": {"value": "{AWS_SECRET}"}}}]}]`,
		`"remotes": [{"type": "sse", "url": "https://example.com/${AWS_SECRET}"}]`,
		`"remotes": [{"type": "sse", "url": "https://example.com/$"}, {"type": "sse", "url": "https://example.com/", "headers": [{"name": "X", "default": "${env:AWS_SECRET}"}]}]`,
	} {
		s, err := Parse([]byte(`{"name": "a/b", "description": "d", "version": "1", ` + part + `}`))
		assert.NilError(t, err)
		all := s.Alternatives()
		last := all[len(all)-1]
		assert.Check(t, strings.Contains(last.Problem, "${"), "%s\n%+v", part, last)
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"mcpServers": {}}`, `{"name": "x"}`,
		`{"packages": []}`, `{"server": 1}`, `// x
{"name": "a/b", "packages": []}`} {
		_, err := Parse([]byte(text))
		assert.Check(t, err == ErrOther, "%s: %v", text, err)
	}
	with := func(rest string) string {
		return `{"name": "a/b", "description": "d", "version": "1", ` + rest + `}`
	}
	pkg := func(rest string) string {
		return with(`"packages": [{"registryType": "npm", "transport": {"type": "stdio"}, ` + rest + `}]`)
	}
	for _, tt := range []struct{ text, want string }{
		{`{"name": "ab", "description": "d", "version": "1", "packages": []}`, `the name "ab" is not NAMESPACE/NAME`},
		{`{"name": "a/b", "description": "", "version": "1", "packages": []}`, "the description must have 1 to 100"},
		{`{"name": "a/b", "description": "d", "version": "^1", "packages": []}`, `the version "^1" is not one version`},
		{`{"name": "a/b", "packages": 1}`, "server.json: "},
		{with(`"packages": [{"registry_type": "npm", "identifier": "x"}]`), "older schema must be rewritten"},
		{pkg(`"identifier": "--registry=https://evil.example"`), "is not that of a package"},
		{pkg(`"identifier": "a b"`), "is not that of a package"},
		{pkg(`"identifier": "a", "version": "latest"`), `the version "latest"`},
		{pkg(`"identifier": "a", "version": "1 --x"`), "is not one version"},
		{pkg(`"identifier": "a", "fileSha256": "AB"`), "fileSha256"},
		{pkg(`"identifier": "a", "packageArguments": [{"type": "named"}]`), "packages[0]: an argument must be"},
		{pkg(`"identifier": "a", "environmentVariables": [{"name": "A=B"}]`), "cannot be the name of a variable"},
		{with(`"packages": [{"registryType": "mcpb", "identifier": "https://example.com/x", "transport": {"type": "stdio"}}]`), "must have fileSha256"},
		{with(`"packages": [{"registryType": "npm", "identifier": "x", "transport": {"type": "pipe"}}]`), `the transport "pipe"`},
		{with(`"remotes": [{"type": "websocket", "url": "wss://x"}]`), "remotes[0]"},
	} {
		_, err := Parse([]byte(tt.text))
		assert.Check(t, err != nil && err != ErrOther && strings.Contains(err.Error(), tt.want),
			"%s: %v", tt.text, err)
	}
}

// A description may begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	want, err := Parse([]byte(described))
	assert.NilError(t, err)
	got, err := Parse([]byte("\uFEFF" + described))
	assert.NilError(t, err)
	assert.Equal(t, got.Name, want.Name)
	assert.Equal(t, len(got.Packages), len(want.Packages))
}
