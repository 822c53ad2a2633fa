package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// recites returns a prompt that returns its arguments.
func recites(name string, arguments ...mcp.PromptArgument) server.Prompt {
	return server.Prompt{
		Prompt: mcp.Prompt{Name: name, Arguments: arguments},
		Get: func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			encoded, err := json.Marshal(arguments)
			return &mcp.GetPromptResult{Description: name,
				Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: string(encoded)}}}}, err
		},
	}
}

func TestPromptsAreListedAndGot(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		p := recites("review",
			mcp.PromptArgument{Name: "code", Title: "Code", Description: "What to review.",
				Required: true}, mcp.PromptArgument{Name: "style"})
		p.Title, p.Description = "Review", "Reviews code."
		p.Icons = []mcp.Icon{{Src: "data:image/png;base64,AQ=="}}
		p.Meta = mcp.Meta{"example.com/k": json.RawMessage(`1`)}
		must(t, s.AddPrompt(p))
		must(t, s.AddPrompt(recites("plain name, any will do ✓")))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		k.want("prompts/list", "", cacheable(k, `{"prompts":[{"name":"plain name, any will do ✓"},
			{"name":"review","title":"Review","description":"Reviews code.","arguments":[{"name":"code","title":"Code","description":"What to review.","required":true},{"name":"style"}],
			 "icons":[{"src":"data:image/png;base64,AQ=="}],"_meta":{"example.com/k":1}}]}`))
		got := func(name, arguments string) string {
			encoded, _ := json.Marshal(arguments)
			return fmt.Sprintf(
				`{"description":%q,"messages":[{"role":"user","content":{"type":"text","text":%s}}]}`,
				name, encoded)
		}
		k.want("prompts/get", `{"name":"review","arguments":{"code":"x","style":"t\u00e9rse"}}`,
			got("review", `{"code":"x","style":"térse"}`))
		k.want("prompts/get", `{"name":"review","arguments":{"code":"","undeclared":"passes"}}`,
			got("review", `{"code":"","undeclared":"passes"}`))
		k.want("prompts/get", `{"name":"plain name, any will do ✓"}`,
			got("plain name, any will do ✓", `null`))
		k.want("prompts/get", `{"name":"plain name, any will do \u2713","arguments":{}}`,
			got("plain name, any will do ✓", `{}`))
		for params, want := range map[string]string{
			`{"name":"review"}`:                                          `the prompt review needs the argument "code"`,
			`{"name":"review","arguments":{}}`:                           `needs the argument "code"`,
			`{"name":"review","arguments":{"style":"x"}}`:                `needs the argument "code"`,
			`{"name":"review","arguments":{"code":1}}`:                   `arguments: "code" must be a string`,
			`{"name":"review","arguments":{"code":null}}`:                `arguments: "code" must be a string`,
			`{"name":"review","arguments":{"code":"a","x":{}}}`:          `arguments: "x" must be a string`,
			`{"name":"review","arguments":{"code":"a","code":"b"}}`:      `arguments: "code" occurs twice`,
			`{"name":"review","arguments":{"code":"a","c\u006fde":"b"}}`: `arguments: "code" occurs twice`,
			`{"name":"review","arguments":[]}`:                           `arguments must be an object`,
			`{"name":"review","arguments":null}`:                         `arguments must be an object`,
			`{"name":"Review","arguments":{"code":"a"}}`:                 `Unknown prompt: Review`,
			`{"name":7}`:                       `name must be a string`,
			`{}`:                               `Unknown prompt: `,
			`{"name":"review","name":"other"}`: `"name" occurs twice`,
		} {
			k.expectError("prompts/get", params, -32602, want)
		}
	})
}

// All content of a message is sent to the client, except content that its revision does not
// support. The handler's result is not modified.
func TestPromptContent(t *testing.T) {
	result := &mcp.GetPromptResult{
		Result: mcp.Result{Meta: mcp.Meta{"example.com/k": json.RawMessage(`1`)}},
		Messages: []mcp.PromptMessage{
			{Role: mcp.RoleUser,
				Content: &mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}},
			{Role: mcp.RoleAssistant,
				Content: &mcp.EmbeddedResource{
					Resource: mcp.ResourceContents{URI: "x:1", MIMEType: "text/plain", Text: "t"}}},
			{Role: mcp.RoleUser,
				Content: &mcp.AudioContent{Data: []byte{2}, MIMEType: "audio/wav"}},
			{Role: mcp.RoleUser,
				Content: &mcp.ResourceLink{Resource: mcp.Resource{URI: "x:2", Name: "two"}}},
		},
	}
	s := made(quiet, func(s *server.Server) {
		p := recites("all")
		p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult,
			error) {
			return result, nil
		}
		must(t, s.AddPrompt(p))
		p = recites("none")
		p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		}
		must(t, s.AddPrompt(p))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		audio, link := `{"type":"audio","data":"Ag==","mimeType":"audio/wav"}`,
			`{"type":"resource_link","uri":"x:2","name":"two"}`
		if revision < "2025-03-26" {
			audio = `{"type":"text","text":"[sound, audio/wav, 1 bytes]"}`
		}
		if revision < "2025-06-18" {
			link = `{"type":"text","text":"[two](x:2)"}`
		}
		k.want("prompts/get", `{"name":"all"}`,
			`{"_meta":{"example.com/k":1},"messages":[{"role":"user","content":{"type":"image","data":"AQ==","mimeType":"image/png"}},
			{"role":"assistant","content":{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","text":"t"}}},
			{"role":"user","content":`+audio+`},{"role":"user","content":`+link+`}]}`)
		k.want("prompts/get", `{"name":"none"}`, `{"messages":[]}`)
	})
	assert.Equal(t, len(result.Meta), 1)
	_, isAudio := result.Messages[2].Content.(*mcp.AudioContent)
	assert.Assert(t, isAudio)
}

func TestPromptFailures(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		for name, f := range failures {
			p := recites(name)
			p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult,
				error) {
				return nil, f.fail()
			}
			must(t, s.AddPrompt(p))
		}
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, f := range failures {
			m := k.expectError("prompts/get", fmt.Sprintf(`{"name":%q}`, name), f.code, f.text)
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
		}
		k.expectNothing()
	})
}

// A message without content is the mistake of the handler, and is not sent.
func TestPromptMessageWithoutContent(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		p := recites("empty")
		p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser}}}, nil
		}
		must(t, s.AddPrompt(p))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		k.expectError("prompts/get", `{"name":"empty"}`, -32603, "Internal error")
	})
}

func TestPromptsComeAndGo(t *testing.T) {
	s := made(quiet)
	assert.ErrorContains(t, s.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"}}),
		`server: prompt "p": it needs a Name and Get`)
	assert.ErrorContains(t, s.AddPrompt(recites("")), "needs a Name")
	broken := recites("p")
	broken.Meta = mcp.Meta{"k": json.RawMessage(`{`)}
	assert.ErrorContains(t, s.AddPrompt(broken), `server: prompt "p"`)
	k := speak(t, s, newest, `{}`)
	k.expectError("prompts/list", "", -32601, "prompts/list") // none of these calls declares prompts

	must(t, s.AddPrompt(recites("p")))
	p := recites("p")
	p.Title = "Other"
	must(t, s.AddPrompt(p))
	k.want("prompts/list", "", cacheable(k, `{"prompts":[{"name":"p","title":"Other"}]}`))
	assert.Equal(t, s.Remove(mcp.KindPrompt, "p", "q"), 1)
	k.want("prompts/list", "", cacheable(k, `{"prompts":[]}`))
	k.expectError("prompts/get", `{"name":"p"}`, -32602, "Unknown prompt: p")
}
