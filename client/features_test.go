package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// names returns the names of the elements of a sequence, followed by the error.
func names[T any](seq iter.Seq2[T, error], name func(T) string) string {
	var all []string
	for item, err := range seq {
		if err != nil {
			all = append(all, err.Error())
		} else {
			all = append(all, name(item))
		}
	}
	return strings.Join(all, " ")
}

func uriOf(r *mcp.Resource) string              { return r.URI }
func templateOf(r *mcp.ResourceTemplate) string { return r.URITemplate }
func promptOf(p *mcp.Prompt) string             { return p.Name }

func TestResources(t *testing.T) {
	s := newServer(server.Options{PageSize: 2})
	for i := range 5 {
		addResource(t, s, fmt.Sprintf("file:///%d", i), say("contents"))
	}
	for i := range 3 {
		assert.NilError(t, s.AddResourceTemplate(server.ResourceTemplate{
			ResourceTemplate: mcp.ResourceTemplate{URITemplate: fmt.Sprintf("x%d:///{a}", i),
				Name: "x"},
			Read: func(_ context.Context, uri string,
				values map[string]string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Blob: []byte(values["a"])}}}, nil
			}}))
	}
	eras(t, func(t *testing.T, era mcp.Era) {
		c := connectTo(t, s, Options{Era: era})
		assert.Equal(t, names(c.Resources(t.Context()), uriOf),
			"file:///0 file:///1 file:///2 file:///3 file:///4")
		assert.Equal(t, names(c.ResourceTemplates(t.Context()), templateOf),
			"x0:///{a} x1:///{a} x2:///{a}")
		read, err := c.ReadResource(t.Context(), "file:///3")
		assert.NilError(t, err)
		assert.Equal(t, read.Contents[0].Text, "contents")
		read, err = c.ReadResource(t.Context(), "x1:///b%20c")
		assert.NilError(t, err)
		assert.Equal(t, string(read.Contents[0].Blob), "b c")
		_, err = c.ReadResource(t.Context(), "file:///none")
		assert.ErrorContains(t, err, `server "server": resources/read "file:///none": `)
		assert.ErrorIs(t, err,
			&rpc.Error{Code: map[mcp.Era]int{mcp.Legacy: mcp.CodeResourceNotFound,
				mcp.Modern: rpc.CodeInvalidParams}[era]})
	})
}

func TestPrompts(t *testing.T) {
	s := newServer(server.Options{PageSize: 2})
	for i := range 5 {
		addPrompt(t, s, fmt.Sprint("p", i), say("Weather in "))
	}
	eras(t, func(t *testing.T, era mcp.Era) {
		c := connectTo(t, s, Options{Era: era})
		assert.Equal(t, names(c.Prompts(t.Context()), promptOf), "p0 p1 p2 p3 p4")
		got, err := c.GetPrompt(t.Context(), "p1", map[string]string{"city": "Oslo"})
		assert.NilError(t, err)
		assert.Equal(t, got.Messages[0].Content.(*mcp.TextContent).Text, "Weather in Oslo")
		_, err = c.GetPrompt(t.Context(), "p9", nil)
		assert.ErrorContains(t, err, `server "server": prompts/get "p9": `)
		assert.ErrorIs(t, err, rpc.ErrInvalidParams)
		completion, err := c.Complete(t.Context(),
			mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p1"}, "city", "Os",
			map[string]string{"country": "NO"})
		assert.NilError(t, err)
		assert.DeepEqual(t, completion.Values, []string{"cityOsmap[country:NO]"})
	})
}

// The client does not send requests for undeclared capabilities. Completion is older than its
// capability.
func TestUndeclared(t *testing.T) {
	for name, test := range map[string]struct {
		handshake func(*scripted)
		options   Options
		asked     string
	}{
		"modern": {(*scripted).modern, Options{}, ""},
		"legacy": {(*scripted).legacy, Options{}, ""},
		"oldest": {func(s *scripted) {
			s.reply(s.read(),
				`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
			s.read()
		}, Options{Revision: mcp.Rev20241105}, "completion/complete"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c, err := test.options.Connect(t.Context(), stream(func(s *scripted) {
				test.handshake(s)
				for m := s.read(); m.line != ""; m = s.read() {
					asked = append(asked, m.Method)
					assert.Check(t, !strings.Contains(string(m.Params), "settled"), m.line)
					s.reply(m, `{"completion":{"values":["Oslo"]}}`)
				}
			}))
			assert.NilError(t, err)
			ctx := t.Context()
			const sorry = "the server does not declare the capability "
			assert.Equal(t, names(c.Resources(ctx), uriOf), `server "server": resources/list: `+
				sorry+"resources, and was not asked")
			assert.Equal(t, names(c.ResourceTemplates(ctx), templateOf),
				`server "server": resources/templates/list: `+sorry+"resources, and was not asked")
			assert.Equal(t, names(c.Prompts(ctx), promptOf), `server "server": prompts/list: `+
				sorry+"prompts, and was not asked")
			_, read := c.ReadResource(ctx, "a:b")
			_, get := c.GetPrompt(ctx, "p", nil)
			for _, err := range []error{read, get} {
				assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
				assert.ErrorType(t, err.(*CallError).Err, &UndeclaredError{})
			}
			_, complete := c.Complete(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p"},
				"a", "", map[string]string{"settled": "x"})
			if test.asked == "" {
				assert.ErrorIs(t, complete, rpc.ErrMethodNotFound)
			} else {
				assert.NilError(t, complete)
			}
			assert.NilError(t, c.Close())
			assert.Equal(t, strings.Join(asked, " "), test.asked)
		})
	}
}

const everything = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"completions":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}}}`

// Invalid lists and results of every method, and lists that do not end.
func TestFeaturesUnhappy(t *testing.T) {
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

func allResources(ctx context.Context, c *Client) string { return names(c.Resources(ctx), uriOf) }
func allTemplates(ctx context.Context, c *Client) string {
	return names(c.ResourceTemplates(ctx), templateOf)
}
func allPrompts(ctx context.Context, c *Client) string { return names(c.Prompts(ctx), promptOf) }

// Pages contain every byte that the server wrote.
func TestPages(t *testing.T) {
	const page = `{"resultType":"complete", "resources":[ {"uri":"a:b","name":"b","x":1.0} ],"resourceTemplates":[],"prompts":[] }`
	c := connect(t, Options{}, func(s *scripted) {
		s.reply(s.read(),
			strings.Replace(discovered, `"capabilities":{`,
				`"capabilities":{"resources":{},"prompts":{},`, 1))
		s.serve(map[string]string{mcp.MethodListResources: page,
			mcp.MethodListResourceTemplates: page, mcp.MethodListPrompts: page})
	})
	for _, pages := range []iter.Seq2[json.RawMessage, error]{
		c.Integration().ResourcePages(t.Context()),
		c.Integration().ResourceTemplatePages(t.Context()),
		c.Integration().PromptPages(t.Context())} {
		assert.Equal(t, names(pages, func(raw json.RawMessage) string { return string(raw) }), page)
	}
	c = connect(t, Options{}, (*scripted).modern)
	for _, pages := range []iter.Seq2[json.RawMessage, error]{
		c.Integration().ResourcePages(t.Context()),
		c.Integration().ResourceTemplatePages(t.Context()),
		c.Integration().PromptPages(t.Context())} {
		for _, err := range pages {
			assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
		}
	}
}
