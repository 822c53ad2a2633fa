package config

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// overridesFile is a file with these overrides.
func overridesFile(overrides string) string {
	return `{"mcpServers": {"s": {"command": "x",
"overrides": ` + overrides + `}}}`
}

// Each mistake in overrides is an error at its place, and the schema finds what it can.
func TestOverrideErrors(t *testing.T) {
	for overrides, want := range map[string]string{
		`{"a": {}, "prompt:a": {"name": "b"}, "b": {"hidden": true}, "resource:mem://{x}": {"name": "B b"}}`: ``,
		`{"a": {"arguments": {"p": {"name": "q"}, "q": {"name": "p"}}}}`:                                     ``,
		`{"a": {"arguments": {"p": {"name": "h"}, "h": {"value": 1}}}}`:                                      ``,
		`{"a": {"annotations": {"readOnlyHint": true}}}`:                                                     ``,
		`{"a": {"maxResultSizeChars": 500000}}`:                                                              ``,
		`{"a": {"maxResultSizeChars": 500001}}`:                                                              `2:43: server "s": overrides.a.maxResultSizeChars must be a whole number from 1 to 500000`,
		`{"prompt:a": {"maxResultSizeChars": 1}}`:                                                            `2:28: server "s": overrides.prompt:a: only tools have maxResultSizeChars`,
		`[]`:                                            `2:14: server "s": overrides must be an object by the names of tools, not an array`,
		`{"a": 1}`:                                      `2:20: server "s": overrides.a must be an object, not a number`,
		`{"": {}}`:                                      `2:15: server "s": overrides: the name of the tool is missing`,
		`{"prompt:": {}}`:                               `2:15: server "s": overrides: the name of the prompt is missing`,
		`{"a": {"hiden": true}}`:                        `2:21: server "s": overrides.a has no "hiden"; did you mean hidden?`,
		`{"a": {"name": "b c"}}`:                        `2:29: server "s": overrides.a.name must be 1 to 64 letters, digits, '_', '-' and '.'`,
		`{"a": {"name": ""}}`:                           `2:29: server "s": overrides.a.name must be 1 to 64 letters, digits, '_', '-' and '.'`,
		`{"prompt:a": {"arguments": {}}}`:               `2:28: server "s": overrides.prompt:a: only tools have arguments`,
		`{"a": {"name": "b"}, "b": {}}`:                 `2:35: server "s": overrides: "b" and "a" at 2:15 would have the same name; change one of them`,
		`{"a": {"annotations": {"x": 1}}}`:              `2:37: server "s": overrides.a.annotations has no "x"; there are readOnlyHint, destructiveHint, idempotentHint, openWorldHint`,
		`{"a": {"annotations": 1}}`:                     `2:36: server "s": overrides.a.annotations must be an object of hints, not a number`,
		`{"a": {"arguments": {"p": 1}}}`:                `2:40: server "s": overrides.a.arguments.p must be an object, not a number`,
		`{"a": {"arguments": {"p": {"x": 1}}}}`:         `2:41: server "s": overrides.a.arguments.p has no "x"; there are name, description, default, value, hidden`,
		`{"a": {"arguments": {"p": {"name": "q r"}}}}`:  `2:49: server "s": overrides.a.arguments.p.name must be 1 to 64 letters, digits, '_', '-' and '.'`,
		`{"a": {"arguments": {"p": {"hidden": true}}}}`: `2:35: server "s": overrides.a.arguments.p: it is hidden and has no value: add "value", which the server always gets`,
		`{"a": {"arguments": {"p": {"value": 1, "default": 2}}}}`: `2:35: server "s": overrides.a.arguments.p: it has a value and a default; remove one of them`,
		`{"a": {"arguments": {"p": {"value": 1, "name": "q"}}}}`:  `2:35: server "s": overrides.a.arguments.p: it is hidden, so nobody sees its name and description; remove them`,
		`{"a": {"arguments": {"p": {"name": "q"}, "q": {}}}}`:     `2:55: server "s": overrides.a.arguments: "q" and "p" at 2:35 would have the same name; change one of them`,
	} {
		text := overridesFile(overrides)
		f := parse(text)
		got := ""
		if len(f.Diagnostics) > 0 {
			got = strings.TrimPrefix(f.Diagnostics[0].Error(), "f.json:")
		}
		assert.Check(t, cmp.Equal(got, want), overrides)
		checkSchema(t, text, f)
	}
}

// Only the user's own file may make a tool look safer.
func TestSafeHintsOfProject(t *testing.T) {
	for hint, refused := range map[string]bool{`"readOnlyHint": true`: true, `"readOnlyHint": false`: false,
		`"destructiveHint": false`: true, `"destructiveHint": true`: false,
		`"idempotentHint": true`: true, `"idempotentHint": false`: false,
		`"openWorldHint": false`: true, `"openWorldHint": true`: false} {
		text := []byte(overridesFile(`{"a": {"annotations": {` + hint + `}}}`))
		own := Parse(world(nil, nil), Source{Path: "f.json"}, text).Servers[0]
		assert.NilError(t, own.Err, hint)
		project := Parse(world(nil, nil), Source{Path: "f.json", Project: true}, text).Servers[0]
		assert.Equal(t, project.Err != nil, refused, hint)
		if refused {
			assert.ErrorContains(t, project.Err, "look safer, which only your own file may do")
		}
	}
}

// The values of arguments may be secret; names and texts are shown.
func TestOverridesAreRedacted(t *testing.T) {
	s := parse(overridesFile(
		`{"a": {"title": "T", "arguments": {"p": {"value": {"k": "s3cret"}}, "q": {"default": "s3cret"}}}}`)).Servers[0]
	assert.Equal(t, string(s.Redacted().JSON()),
		`{"command":"x","overrides":{"a":{"title":"T","arguments":{"p":{"value":"…"},"q":{"default":"…"}}}}}`)
	assert.Assert(t, strings.Contains(string(s.JSON()), "s3cret"))
	text := s.JSON()
	for _, at := range SecretRanges(text) {
		copy(text[at[0]:at[1]], strings.Repeat("-", at[1]-at[0]))
	}
	assert.Equal(t, string(text),
		`{"command":"x","overrides":{"a":{"title":"T","arguments":{"p":{"value":{"k":--------}},"q":{"default":--------}}}}}`)
}
