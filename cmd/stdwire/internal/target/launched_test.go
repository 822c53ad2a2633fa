package target

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWhoAsks(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/weather --token x": "weather", "npx -y @a/b --token=x": "npx @a/b", "npx": "npx",
		"uvx --index=https://u:p@x pkg": "uvx pkg", "docker run image": "docker",
	} {
		assert.Equal(t, (&Target{Words: strings.Fields(command)}).LaunchedName(), want)
	}
	assert.Equal(t, NewTarget().LaunchedName(), "built-in")
}
