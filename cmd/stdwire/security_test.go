package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"gotest.tools/v3/assert"
)

// What stdwire help security speaks of is there, and fits the screen.
func TestHelpSecurity(t *testing.T) {
	got := run(t, "help", "security")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, got.stderr, "")
	for line := range strings.Lines(got.stdout) {
		assert.Assert(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= term.Width, line)
	}
	text := strings.Join(strings.Fields(got.stdout), " ")
	c, err := findCommand("serve")
	assert.NilError(t, err)
	grammar, _ := c.Make()
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(text, -1) {
		assert.Assert(t, slices.ContainsFunc(grammar.Flags, func(f command.Flag) bool { return f.Name == name }), "serve has no %s", name)
	}
	for _, m := range regexp.MustCompile(`stdwire ([a-z]+)`).FindAllStringSubmatch(text, -1) {
		if slices.Contains([]string{"defends", "is"}, m[1]) {
			continue
		}
		assert.Assert(t, slices.Contains(commandNames(), m[1]), m[0])
	}
	assert.Equal(t, strings.Count(got.stdout, "\n  + "), len(serve.Defences))
	assert.Equal(t, strings.Count(got.stdout, "\n  - "), len(serve.Defences))
	assert.Assert(t, strings.Contains(run(t, "help").stdout, "stdwire help security"))
	assert.Equal(t, run(t, "help", "security", "again").code, 2)
}
