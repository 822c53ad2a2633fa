package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

const everything = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"completions":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}}}`

// Invalid lists and results of every method, and lists that do not end.
func TestInvalidResults(t *testing.T) {
	n := 0
	endless := func(key string) func(message) string {
		return func(message) string {
			n++
			return fmt.Sprintf(`{%q:[],"nextCursor":"%d"}`, key, n)
		}
	}
	for _, test := range []struct {
		name  string
		reply func(message) string
		call  func(ctx context.Context, c *Client) string
		want  string
	}{
		{"resources without end", endless("resources"), allResources,
			""},
		{"templates without end", endless("resourceTemplates"), allTemplates,
			""},
		{"prompts without end", endless("prompts"), allPrompts,
			""},
		{"too many prompts", func(message) string {
			return `{"prompts":[` + strings.Repeat(`{"name":"p"},`, maxItems) + `{"name":"p"}]}`
		}, func(ctx context.Context, c *Client) string {
			return fmt.Sprint(len(strings.Fields(allPrompts(ctx, c))))
		}, "100000"},
		{"no resources", func(message) string { return `{"resources":[7]}` }, allResources,
			`resources/list: an element is invalid: want an object, not a number`},
		{"no prompts", func(message) string { return `{"prompts":{}}` }, allPrompts,
			"prompts/list: an invalid result: prompts: want an array, not an object (at byte 11)"},
		{"no contents", func(message) string { return `{"contents":"x"}` },
			func(ctx context.Context, c *Client) string {
				_, err := c.ReadResource(ctx, "a:b")
				return err.Error()
			}, `resources/read "a:b": an invalid result: contents: want an array, not a string (at byte 12)`},
		{"no messages", func(message) string { return `{"messages":[{"role":7}]}` },
			func(ctx context.Context, c *Client) string {
				_, err := c.GetPrompt(ctx, "p", nil)
				return err.Error()
			}, `prompts/get "p": an invalid result: messages[0].role: want a string, not a number (at byte 21)`},
		{"no completion", func(message) string { return `{"completion":[]}` },
			func(ctx context.Context, c *Client) string {
				_, err := c.Complete(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p"},
					"a", "", nil)
				return err.Error()
			}, `completion/complete: an invalid result: completion: want an object, not an array (at byte 14)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, Options{}, func(s *scripted) {
				s.reply(s.read(), everything)
				for m := s.read(); m.line != ""; m = s.read() {
					assert.Check(t, json.Valid(m.Params))
					s.reply(m, test.reply(m))
				}
			})
			assert.Equal(t, strings.TrimPrefix(test.call(t.Context(), c), `server "server": `),
				test.want)
		})
	}
}
