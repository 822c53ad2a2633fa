package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A tool with content of its own and typed structured content, in every revision.
func TestStructured(t *testing.T) {
	type forecast struct {
		High int      `json:"high" doc:"Degrees."`
		Tags []string `json:"tags"`
	}
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "forecast"},
		func(_ context.Context, in struct{ How string }) (r server.Structured[forecast],
			err error) {
			r.Value.High = 7
			switch in.How {
			case "content":
				r.Content = []mcp.Content{mcp.Text("Cold."), mcp.Text("Dry.")}
			case "empty":
				r.Content = []mcp.Content{}
			case "fail":
				err = errors.New("secret")
			}
			return r, err
		})
	server.AddTool(s, mcp.Tool{Name: "list"},
		func(context.Context, struct{}) (server.Structured[[]int], error) {
			return server.Structured[[]int]{Value: []int{1},
				Content: []mcp.Content{mcp.Text("one")}}, nil
		})
	server.AddTool(s, mcp.Tool{Name: "any"},
		func(context.Context, struct{}) (server.Structured[any], error) {
			return server.Structured[any]{Value: map[string]int{"n": 1}}, nil
		})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		list := k.request("tools/list", `{}`).raw
		if revision >= "2025-06-18" {
			assert.Assert(t, cmp.Contains(list,
				`"outputSchema":{"type":"object","properties":{"high":{"type":"integer","description":"Degrees."},"tags":{"type":"array","items":{"type":"string"}}},"required":["high","tags"],"additionalProperties":false}`))
		}
		const value = `{"high":7,"tags":[]}`
		for how, content := range map[string]string{
			"content": `"content":[{"type":"text","text":"Cold."},{"type":"text","text":"Dry."}]`,
			"empty":   `"content":[]`,
			"nothing": textBlock(value),
		} {
			want := "{" + content + `,"structuredContent":` + value + "}"
			if revision < "2025-06-18" {
				want = "{" + content + "}"
			}
			k.want("tools/call", fmt.Sprintf(`{"name":"forecast","arguments":{"How":%q}}`, how), want)
		}
		k.want("tools/call", `{"name":"forecast","arguments":{"How":"fail"}}`, "{"+textBlock(
			"the operation failed; the text of its error is withheld: the log has it, and ShowErrors shows it")+
			`,"isError":true}`)
		want := `{` + textBlock("one") + `}`
		if k.modern() { // older revisions allow objects only
			want = `{` + textBlock("one") + `,"structuredContent":[1]}`
		}
		k.want("tools/call", `{"name":"list"}`, want)
	})
	assert.Assert(t, cmp.Contains(speak(t, s, newest, `{}`).request("tools/list", `{}`).raw,
		`{"name":"any","inputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`))
}

// The value must fit a given output schema, and a mistake in a declaration is found at once.
func TestStructuredMistakes(t *testing.T) {
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "t",
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":1}}}`)},
		func(_ context.Context, in struct{ N int }) (server.Structured[map[string]int], error) {
			return server.Structured[map[string]int]{Value: map[string]int{"n": in.N}}, nil
		})
	in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		k.want("tools/call", `{"name":"t","arguments":{"N":1}}`,
			`{`+textBlock(`{"n":1}`)+`,"structuredContent":{"n":1}}`)
		assert.Assert(t, cmp.Contains(k.request("tools/call", `{"name":"t","arguments":{"N":2}}`).raw,
			`"isError":true`))
	})
	_, err := server.NewTool(mcp.Tool{Name: "t"},
		func(context.Context, struct{}) (*server.Structured[int], error) { return nil, nil })
	assert.ErrorContains(t, err, "must not be a pointer")
	_, err = server.NewTool(mcp.Tool{Name: "t"},
		func(context.Context, struct{}) (server.Structured[chan int], error) {
			return server.Structured[chan int]{}, nil
		})
	assert.ErrorContains(t, err, `server: tool "t": output schema: schema: chan int`)
}
