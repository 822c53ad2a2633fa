package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The results of another server's prompts and resources are forwarded byte by byte, except where
// the client's revision requires a change.
func TestForwardedResults(t *testing.T) {
	const (
		odd   = `"x":[1.0,1e2,"\u00e9"]`
		typed = `"resultType":"complete",`
		all   = typed + odd + `,"contents":[{"uri":"x:1","text":"","y":1.0}]`
		link  = `{"y":1e2,"role":"user","content":{"type":"resource_link","name":"n","uri":"x:1"}}`
		text  = `{"y":1e2,"role":"user","content":{"type":"text","text":"[n](x:1)"}}`
		plain = `{ "role":"user","content":{"type":"text","z":1.0,"text":""}}`
	)
	for name, tt := range map[string]struct {
		kind                mcp.Kind
		result              string
		oldest, last, newer string // of 2024-11-05, of 2025-11-25, of 2026-07-28
	}{
		"prompt": {mcp.KindPrompt, `{ ` + odd + `,"messages":[` + plain + `]}`, "", "",
			`{"resultType":"complete", ` + odd + `,"messages":[` + plain + `]}`},
		"content that an old revision lacks": {mcp.KindPrompt,
			`{` + typed + odd + `,"messages":[` + link + `,` + plain + `]}`,
			`{` + typed + odd + `,"messages":[` + text + `,` + plain + `]}`, "", ""},
		"all hints": {mcp.KindResource, `{` + all + `,"ttlMs":1e2,"cacheScope":"public"}`,
			`{` + all + `}`, `{` + all + `}`, ""},
		"no hints": {mcp.KindResource, `{ ` + all + `}`, "", "",
			`{"ttlMs":0,"cacheScope":"private", ` + all + `}`},
		"invalid hints": {mcp.KindResource, `{` + all + `,"ttlMs":-1,"cacheScope":""}`,
			`{` + all + `}`, `{` + all + `}`, `{` + all + `,"ttlMs":0,"cacheScope":"private"}`},
		"hints of other types": {mcp.KindResource, `{` + all + `,"ttlMs":1.5,"cacheScope":null}`,
			`{` + all + `}`, `{` + all + `}`, `{` + all + `,"ttlMs":0,"cacheScope":"private"}`},
		"nothing": {mcp.KindResource, `{ }`, "", "",
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private" }`},
		"no object": {mcp.KindResource, `[]`, "error", "error", "error"},
		"no JSON":   {mcp.KindPrompt, `{"a":}`, "error", "error", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(quiet, func(s *server.Server) {
				must(t, s.Integration().AddItem(server.Item{Kind: tt.kind,
					Definition: json.RawMessage(`{"name":"n","uri":"x:1"}`),
					Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(tt.result), nil
					}}))
			})
			for revision, want := range map[string]string{"2024-11-05": tt.oldest,
				"2025-11-25": tt.last, newest: tt.newer} {
				if want == "" {
					want = tt.result
				}
				method, params := "prompts/get", `{"name":"n"}`
				if tt.kind == mcp.KindResource {
					method, params = "resources/read", `{"uri":"x:1"}`
				}
				k := speak(t, s, revision, `{}`)
				if name == "nothing" {
					k.check = nil // another server may send what MCP does not allow
				}
				m := k.request(method, params)
				if want == "error" {
					m.fails(-32603, "Internal error")
					continue
				}
				assert.Assert(t, strings.Contains(m.raw, `"result":`+want+`}`), "%s: %s", revision,
					m.raw)
			}
		})
	}
}

// Arguments of another server's prompt are checked like those of any prompt, and passed on as the
// client sent them.
func TestForwardedPrompt(t *testing.T) {
	var arguments string
	s := made(quiet, func(s *server.Server) {
		must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindPrompt,
			Definition: json.RawMessage(`{"name":"n","arguments":[{"name":"a","required":true}]}`),
			Use: func(_ context.Context, _ string, given json.RawMessage) (json.RawMessage, error) {
				arguments = string(given)
				return json.RawMessage(`{"messages":[]}`), nil
			}}))
	})
	k := speak(t, s, newest, `{}`)
	for _, params := range []string{``, `,"arguments":{}`, `,"arguments":{"a":1}`,
		`,"arguments":{"a":"","\u0061":""}`} {
		k.request("prompts/get", `{"name":"n"`+params+`}`).fails(-32602, "Invalid params")
	}
	k.request("prompts/get", `{"name":"n","arguments":{ "a":"\u0041" }}`)
	assert.Equal(t, arguments, `{ "a":"\u0041" }`)
	assert.Assert(t, strings.Contains(k.request("prompts/list", `{}`).raw, `"name":"n"`))
	assert.Equal(t, s.Remove(mcp.KindPrompt, "n", "none"), 1)
	k.request("prompts/get", `{"name":"n"}`).fails(-32602, "Unknown prompt")
}
