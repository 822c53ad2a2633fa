package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/internal/listed"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The faults of streams and of HTTP are tested in streamable/faults_test.go. These are the faults
// in the content of messages.

// wrongTypes has values of every JSON type, with frequent mistakes.
var wrongTypes = []string{"null", "true", "0", "-1", "1.5", "1e999", `""`, `"x"`, `"\ud800"`, "[]",
	"[null]", "[[]]", "[0]", `["x"]`, "[{}]", "{}", `{"x":null}`}

// variants returns the document with each of its values replaced by each of wrongTypes, and without
// each of its members.
func variants(t *testing.T, document string) (all []string) {
	var root any
	assert.NilError(t, json.Unmarshal([]byte(document), &root))
	encode := func() string {
		text, err := json.Marshal(root)
		assert.NilError(t, err)
		return string(text)
	}
	var walk func(value any, set func(any))
	walk = func(value any, set func(any)) {
		for _, misfit := range wrongTypes {
			set(json.RawMessage(`"MISFIT"`))
			all = append(all, replaced(encode(), misfit))
		}
		set(value)
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				member := value[name]
				delete(value, name)
				all = append(all, encode())
				value[name] = member
				walk(member, func(v any) { value[name] = v })
			}
		case []any:
			for i, element := range value {
				walk(element, func(v any) { value[i] = v })
			}
		}
	}
	walk(root, func(v any) { root = v })
	return all
}

func replaced(document, misfit string) string {
	before, after, _ := strings.Cut(document, `"MISFIT"`)
	return before + misfit + after
}

// through takes all elements of a list, and inspects them as an application does.
func through[T any](list iter.Seq2[T, error], look func(T)) error {
	for element, err := range list {
		if err != nil {
			return err
		}
		look(element)
	}
	return nil
}

// Whatever a result contains, the call ends at once, with the result or an error. The returned
// value can be inspected, and the connection continues.
func TestWrongTypesAnywhere(t *testing.T) {
	const icon = `"icons":[{"src":"a:b","mimeType":"image/png","sizes":["1x1"]}]`
	calls := map[string]struct {
		result string
		call   func(c *Client) error
	}{
		"tools/list": {
			`{"resultType":"complete","tools":[{"name":"n","title":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}},
				"outputSchema":{"type":"object"},"annotations":{"title":"t","readOnlyHint":true},` + icon + `,"_meta":{"a":1}}],"ttlMs":0,"cacheScope":"private"}`,
			func(c *Client) error {
				return through(c.Tools(c.ctx), func(t *mcp.Tool) { _ = t.Name })
			},
		},
		"resources/list": {
			`{"resultType":"complete","resources":[{"uri":"a:b","name":"n","size":1,"annotations":{"audience":["user"],"priority":1},` +
				icon + `}],"ttlMs":0,"cacheScope":"private"}`,
			func(c *Client) error {
				return through(c.Resources(c.ctx), func(r *mcp.Resource) { _ = r.URI })
			},
		},
		"resources/templates/list": {
			`{"resultType":"complete","resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}],"ttlMs":0,"cacheScope":"private"}`,
			func(c *Client) error {
				return through(c.ResourceTemplates(c.ctx),
					func(r *mcp.ResourceTemplate) { _ = r.URITemplate })
			},
		},
		"prompts/list": {
			`{"resultType":"complete","prompts":[{"name":"n","arguments":[{"name":"a","required":true}]}],"ttlMs":0,"cacheScope":"private"}`,
			func(c *Client) error {
				return through(c.Prompts(c.ctx), func(p *mcp.Prompt) { _ = p.Name })
			},
		},
		"tools/call": {
			`{"resultType":"complete","content":[{"type":"text","text":"x","annotations":{"priority":0.5}},{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"resource","resource":
				{"uri":"a:b","text":"x"}},{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":{"a":[1]},"isError":false,"_meta":{}}`,
			func(c *Client) error {
				result, err := c.CallTool(c.ctx, "n", nil)
				if err == nil {
					for _, content := range result.Content {
						_ = fmt.Sprint(content)
						assert.Check(t, content != nil)
					}
				}
				return err
			},
		},
		"resources/read": {
			`{"resultType":"complete","contents":[{"uri":"a:b","text":"x"},{"uri":"a:c","blob":"eA=="}],"ttlMs":0,"cacheScope":"private"}`,
			func(c *Client) error { _, err := c.ReadResource(c.ctx, "a:b"); return err },
		},
		"prompts/get": {
			`{"resultType":"complete","description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`,
			func(c *Client) error { _, err := c.GetPrompt(c.ctx, "n", nil); return err },
		},
		"asking": {
			`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":
				{"a":{"type":"string","enum":["x"]}},"required":["a"]}}},"b":{"method":"roots/list"}},"requestState":"s"}`,
			func(c *Client) error { _, err := c.CallTool(c.ctx, "n", nil); return err },
		},
	}
	// the result of the next request; later requests are refused
	var next atomic.Pointer[string]
	o := Options{Roots: []mcp.Root{}, Logger: slog.New(slog.DiscardHandler),
		CallTimeout: 10 * time.Second}
	o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	c := connect(t, o, func(s *scripted) {
		s.reply(s.read(),
			`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"ttlMs":0,"cacheScope":"private"}`)
		for m := s.read(); m.line != ""; m = s.read() {
			if result := next.Swap(nil); result != nil {
				s.reply(m, *result)
			} else if m.ID != nil {
				s.refuse(m, -32000, "enough")
			}
		}
	})
	c.headerTools = new(listed.Headers) // as for HTTP
	for name, tt := range calls {
		whole := strings.ReplaceAll(tt.result, "\n", "")
		next.Store(&whole)
		err := tt.call(c)
		if name != "asking" { // this call is repeated and then refused
			assert.NilError(t, err, name)
		}
		for _, result := range variants(t, tt.result) {
			next.Store(&result)
			err := tt.call(c)
			var failed *CallError
			assert.Assert(t, err == nil || errors.As(err, &failed), "%s: %v", result, err)
			assert.Assert(t, !errors.Is(err, context.DeadlineExceeded) &&
				!errors.Is(err, rpc.ErrClosed), "%s: %v", result, err)
		}
	}
}

// The same for the responses of the handshake: Connect returns a client, or an error with the
// reason.
func TestWrongTypesInTheHandshake(t *testing.T) {
	const info = `{"name":"n","title":"t","version":"1","websiteUrl":"a:b"}`
	for _, result := range variants(t,
		`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"extensions":{"a/b":{}}},
		"instructions":"i","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":`+info+`}}`) {
		greeted(t, result, mcp.Modern)
	}
	for _, result := range variants(t,
		`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"experimental":{"a":{}}},"serverInfo":`+
			info+`,"instructions":"i"}`) {
		greeted(t, result, mcp.Legacy)
	}
}

func greeted(t *testing.T, result string, era mcp.Era) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Era: era, LogLevel: "info", OnToolsChanged: func([]*mcp.Tool, error) {},
			Logger: slog.New(slog.DiscardHandler)}
		began := time.Now()
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.reply(s.read(), result)
			s.serve(nil)
		}))
		assert.Equal(t, time.Since(began), time.Duration(0), "%s", result)
		if err == nil {
			assert.Equal(t, c.Era(), era, "%s", result)
			_, _ = c.ServerInfo(), c.Capabilities()
			shut(t, c)
			return
		}
		var start *StartError
		assert.Assert(t, errors.As(err, &start) &&
			errors.Is(err, rpc.ErrProtocol), "%s: %v", result, err)
	})
}
