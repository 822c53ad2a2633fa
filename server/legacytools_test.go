package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// forwards returns a tool of another server with this definition and result.
func forwards(definition, result string) server.Item {
	return server.Item{Kind: mcp.KindTool, Definition: json.RawMessage(definition),
		Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(result), nil
		}}
}

// A schema that only 2026-07-28 allows would make clients of other revisions refuse the whole list.
func TestSchemasThatLegacyRevisionsDoNotHave(t *testing.T) {
	var log bytes.Buffer
	// Three tools are invalid in all revisions: the schema of 2026-07-28 does not allow them
	// either.
	withTools := func(none bool) *server.Server {
		s := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(
			server.Info{Name: "test", Version: "1.2"}, dispatch.NewCatalog())
		list := returns("list", &mcp.CallToolResult{StructuredContent: json.RawMessage(`[1]`)})
		list.OutputSchema = json.RawMessage(`{"type":"array","items":{"type":"integer"}}`)
		must(t, s.AddRawTool(list))
		must(t, s.Integration().AddItem(forwards(`{"name":"any","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"type":"string"}},"required":["a"]},"x":[1.0]}`,
			`{"content":[]}`)))
		must(t, s.Integration().AddItem(forwards(`{"name":"bare","inputSchema":{"type":"object"},"outputSchema":{}}`,
			`{"content":[]}`)))
		must(t, s.Integration().AddItem(forwards(`{"name":"half","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":true}}}`,
			`{"content":[]}`)))
		must(t, s.Integration().AddItem(forwards(`{"name":"whole","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}},"required":[]}}`,
			`{"content":[]}`)))
		if !none {
			return s
		}
		must(t, s.Integration().AddItem(forwards(`{"name":"untyped","inputSchema":{}}`, `{"content":[]}`)))
		must(t, s.Integration().AddItem(forwards(`{"name":"none","inputSchema":[]}`, `{"content":[]}`)))
		must(t, s.Integration().AddItem(forwards(`{"name":"wrong","inputSchema":{"type":"object","required":null}}`,
			`{"content":[]}`)))
		return s
	}
	modern, legacy := withTools(false), withTools(true)
	const (
		whole = `{"name":"whole","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}},"required":[]}}`
		after = `{"tools":[
			{"name":"any","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"type":"string"}},"required":["a"]},"x":[1.0]},
			{"name":"bare","inputSchema":{"type":"object"},"outputSchema":{}},
			{"name":"half","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":true}}},
			{"name":"list","inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"array","items":{"type":"integer"}}},
			` + whole + `]}`
		before = `{"tools":[
			{"name":"any","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"string"}},"required":["a"]},"x":[1.0]},
			{"name":"bare","inputSchema":{"type":"object"}},
			{"name":"half","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}}}},
			{"name":"list","inputSchema":{"type":"object","properties":{}}},
			{"name":"untyped","inputSchema":{"type":"object"}},
			` + whole + `]}`
	)
	in(t, allRevisions, func(t *testing.T, revision string) {
		if mcp.EraOf(mcp.Revision(revision)) == mcp.Modern {
			k := speak(t, modern, revision, `{}`)
			k.want("tools/list", "", cacheable(k, after))
			return
		}
		k := speak(t, legacy, revision, `{}`)
		k.want("tools/list", "", before)
		k.want("tools/call", `{"name":"list"}`, quoted("[1]"))
	})
	assert.Equal(t, strings.Count(log.String(), "level=WARN"), 2, log.String())
	assert.Assert(t, strings.Contains(log.String(), "tool=wrong"), log.String())
}

// The same is true of tools whose definitions in 2025-11-25 declare task support.
func TestSchemasThatLegacyRevisionsDoNotHaveAndTasks(t *testing.T) {
	c := dispatch.NewCatalog()
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, c)
	list := returns("list", &mcp.CallToolResult{StructuredContent: json.RawMessage(`[1]`)})
	list.OutputSchema, list.Tasks = json.RawMessage(`{"type":"array"}`), mcp.TaskOptional
	must(t, s.AddRawTool(list))
	speak(t, s, "2025-11-25", `{}`).want("tools/list", "",
		`{"tools":[{"name":"list","inputSchema":{"type":"object","properties":{}},"execution":{"taskSupport":"optional"}}]}`)
}

// Structured content that is not an object would make clients refuse the result of another server's
// tool.
func TestStructuredContentThatLegacyRevisionsDoNotHave(t *testing.T) {
	answers := map[string]string{
		"array":  `{"content":[{"type":"text","text":"one"}],"structuredContent":[1],"x":1.0}`,
		"lonely": `{"structuredContent":[ "a" ]}`,
		"empty":  `{"content":[],"structuredContent":7}`,
		"null":   `{"content":[],"structuredContent":null}`,
		"object": `{"content":[],"structuredContent": {"a":1.0}}`,
		"text":   `{"content":[{"type":"text","text":"\"structuredContent\""}]}`,
	}
	before := map[string]string{
		"array":  `{"content":[{"type":"text","text":"one"}],"x":1.0}`,
		"lonely": `{"content":[{"type":"text","text":"[ \"a\" ]"}]}`,
		"empty":  `{"content":[{"type":"text","text":"7"}]}`,
		"null":   `{"content":[]}`,
	}
	s := made(quiet, func(s *server.Server) {
		for name, answer := range answers {
			must(t, s.Integration().AddItem(forwards(`{"name":"`+name+`","inputSchema":{"type":"object"}}`, answer)))
		}
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, answer := range answers {
			want := answer
			if k.modern() {
				want = strings.Replace(answer, "{", `{"resultType":"complete",`, 1)
			} else if other, ok := before[name]; ok {
				want = other
			}
			var got, wanted any
			must(t, json.Unmarshal(k.request("tools/call", `{"name":"`+name+`"}`).Result, &got))
			must(t, json.Unmarshal([]byte(want), &wanted))
			assert.DeepEqual(t, got, wanted)
		}
	})
}
