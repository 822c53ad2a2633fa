package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The parts of the results of TestVerbatim.
const (
	oddMembers = `"x-new":[1.0,1e2,9007199254740993,"\u00e9\/"],"resultType":"complete"`
	oddHints   = `"ttlMs":1e2,"cacheScope":"public"`
	oddContent = `"contents":[{"x":1.0,"uri":"URI","text":"\u00e9"}],"_meta":{"k":1.50}`
)

// verbatim has, for each kind, an item of a server, what uses it, and the result.
var verbatim = map[mcp.Kind]struct {
	kind               mcp.Kind // of the item
	definition         string
	method, params     string
	result             string
	ownName, publicURI string // the name or URI in Use; the URI of an app becomes the public one
}{
	mcp.KindTool: {mcp.KindTool, `{"name":"odd","inputSchema":{"type":"object"}}`,
		"tools/call", `{"name":"up__odd"}`,
		`{ ` + oddMembers + `,"content":[{"type":"later","x":1e2}]}`, "odd", ""},
	mcp.KindPrompt: {mcp.KindPrompt, `{"name":"odd"}`, "prompts/get", `{"name":"up__odd"}`,
		`{ ` + oddMembers + `,"messages":[{"x":1.0,"role":"user","content":` +
			`{"y":1e2,"type":"resource_link","name":"n","uri":"mem://a"}}]}`, "odd", ""},
	mcp.KindResource: {mcp.KindResource, `{"uri":"mem://odd","name":"odd"}`,
		"resources/read", `{"uri":"mem://odd"}`,
		`{` + oddMembers + `,` + oddContent + `,` + oddHints + `}`, "mem://odd", ""},
	mcp.KindResourceTemplate: {mcp.KindResourceTemplate,
		`{"uriTemplate":"mem://odd/{x}","name":"odd"}`,
		"resources/read", `{"uri":"mem://odd/1"}`,
		`{` + oddMembers + `,` + oddContent + `,` + oddHints + `}`, "mem://odd/1", ""},
	mcp.KindApp: {mcp.KindResource, `{"uri":"ui://odd/page","name":"odd"}`,
		"resources/read", `{"uri":"ui://up/odd/page"}`,
		`{` + oddMembers + `,` + oddContent + `,` + oddHints + `}`, "ui://odd/page",
		"ui://up/odd/page"},
	mcp.KindSkill: {mcp.KindSkill, `{"uri":"skill://odd/SKILL.md","resources":"dynamic",` +
		`"frontmatter":{"name":"odd","description":"d","v":1.50}}`,
		"resources/read", `{"uri":"skill://odd/a.md"}`,
		`{` + oddMembers + `,` + oddContent + `,` + oddHints + `}`, "skill://odd/a.md", ""},
}

// The result of an item of each kind reaches the client byte by byte, with members and notations
// that no revision knows. Only cache hints depend on the eras: a legacy server and a legacy client
// have none.
func TestVerbatim(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		for kind := range mcp.Kinds() {
			item, ok := verbatim[kind]
			assert.Assert(t, ok, "a %s needs a row", kind)
			assert.NilError(t, w.up.Integration().AddItem(server.Item{Kind: item.kind,
				Definition: json.RawMessage(item.definition),
				Use: func(_ context.Context, name string, _ json.RawMessage) (json.RawMessage,
					error) {
					assert.Check(t, name == item.ownName)
					return json.RawMessage(strings.Replace(item.result, "URI", name, 1)), nil
				},
				ReadDirectory: func(context.Context, string) (json.RawMessage, error) {
					return json.RawMessage(`[{"x":1.0,"uri":"skill://odd/a.md","name":"a"}]`), nil
				}}))
		}
		time.Sleep(5 * time.Second)
		w.client(client.Options{Era: era, Extensions: uiClient}, func(c *client.Client) {
			for kind, item := range verbatim {
				want := strings.Replace(item.result, "URI", cmp.Or(item.publicURI, item.ownName), 1)
				without, cached := strings.CutSuffix(want, ","+oddHints+"}")
				switch {
				case cached && era == mcp.Legacy:
					want = without + "}"
				case cached && w.era == mcp.Legacy:
					want = `{"ttlMs":0,"cacheScope":"private",` + without[1:] + "}"
				}
				raw, err := c.Call(t.Context(), item.method, json.RawMessage(item.params))
				assert.NilError(t, err, kind)
				assert.Equal(t, string(raw), want, kind)
			}
			raw, err := c.Call(t.Context(), mcp.MethodReadDirectory,
				json.RawMessage(`{"uri":"skill://odd"}`))
			assert.NilError(t, err)
			assert.Assert(t, strings.HasPrefix(string(raw),
				`{"resources":[{"x":1.0,"uri":"skill://odd/a.md","name":"a"}]`), "%s", raw)
		})
	})
}
