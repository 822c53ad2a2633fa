package configcmd_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A server.json becomes servers of a configuration, and nothing is run.
func TestImportServerJSON(t *testing.T) {
	commandtest.Project(t, map[string]string{"server.json": `{"name": "io.github.ada/my weather", "description": "d", "version": "1.0.0", "packages": []}`,
		"two.json": `{"name": "io.github.ada/weather", "description": "d", "version": "1.0.0", "packages": [
			{"registryType": "cargo", "identifier": "w", "transport": {"type": "stdio"}},
			{"registryType": "npm", "identifier": "w", "version": "1.0.0", "transport": {"type": "stdio"},
			 "environmentVariables": [{"name": "API_KEY", "description": "The \u001b[31mkey", "isRequired": true, "isSecret": true}, {"name": "X"}]}],
			"remotes": [{"type": "sse", "url": "https://example.com/${HOME}"}]}`})
	got := commandtest.Run(t, commands, "config", "import", "server.json")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, strings.Contains(got.Stderr, "NAMESPACE/NAME"), got.Stderr)
	got = commandtest.Run(t, commands, "config", "import", "two.json", "--into", "mcp.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, !strings.Contains(got.Stderr, "\x1b"))
	for _, want := range []string{`packages of type "cargo" are not known`, "weather-npm requires ${input:API_KEY}: The ",
		"weather-npm: not set, because they are optional: X", "weather-remote (remote) cannot be used"} {
		assert.Check(t, strings.Contains(got.Stderr, want), "%s\n%s", want, got.Stderr)
	}
	text, err := os.ReadFile("mcp.json")
	assert.NilError(t, err)
	for _, want := range []string{`"weather-npm"`, `"-y"`, `"w@1.0.0"`, `"${input:API_KEY}"`, `"password": true`} {
		assert.Check(t, strings.Contains(string(text), want), "%s\n%s", want, text)
	}
	assert.Equal(t, commandtest.Run(t, commands, "config", "check").Code, 0)
	got = commandtest.Run(t, commands, "config", "import", "two.json", "weather-remote")
	assert.Equal(t, got.Code, 8, got.Stderr)
}
