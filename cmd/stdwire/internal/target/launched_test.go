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
	for command, want := range map[string]string{
		"/usr/bin/weather --token x": "weather", "npx -y @a/server-x --token=x": "@a/server-x",
		"/opt/bin/npx @a/server-x@1.2.3 dir": "@a/server-x", "npx server-x@latest": "server-x",
		"npx": "npx", "pnpm dlx pkg": "pkg", "pnpm run pkg": "pnpm", "pnpm": "pnpm",
		"uvx --python 3.12 mcp-server-time": "mcp-server-time", "uv tool run pkg": "pkg",
		"npx -y file:/home/me/secret": "npx", "docker run image": "docker",
	} {
		assert.Equal(t, (&Target{Words: strings.Fields(command)}).Name(), want, command)
	}
	assert.Equal(t, NewTarget().LaunchedName(), "built-in")
}
