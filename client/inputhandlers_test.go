package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"size":{"type":"string","enum":["S","M"],"default":"M"}},"required":["name"]}`

// accept accepts every form with the same content.
func accept(content string) func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(content)}, nil
	}
}

// ways are the requests during which a server may ask questions.
var ways = map[string]func(ctx context.Context, c *Client) (string, error){
	"tool": func(ctx context.Context, c *Client) (string, error) {
		r, err := c.CallTool(ctx, "ask", nil)
		if err != nil {
			return "", err
		}
		return r.Content[0].(*mcp.TextContent).Text, nil
	},
	"resource": func(ctx context.Context, c *Client) (string, error) {
		r, err := c.ReadResource(ctx, "ask:it")
		if err != nil {
			return "", err
		}
		return r.Contents[0].Text, nil
	},
	"prompt": func(ctx context.Context, c *Client) (string, error) {
		r, err := c.GetPrompt(ctx, "ask", nil)
		if err != nil {
			return "", err
		}
		return r.Messages[0].Content.(*mcp.TextContent).Text, nil
	},
}

// asking returns a server that asks during all of these requests.
func asking(t *testing.T, ask func(ctx context.Context) (string, error)) *server.Server {
	s := newServer(server.Options{})
	addTool(t, s, "ask", ask)
	addResource(t, s, "ask:it", ask)
	addPrompt(t, s, "ask", ask)
	return s
}

// The same callbacks answer servers of both eras, during any request.
func TestQuestions(t *testing.T) {
	s := asking(t, func(ctx context.Context) (string, error) {
		form, err1 := server.Elicit(ctx, "form",
			mcp.ElicitParams{Message: "Who?", RequestedSchema: []byte(nameForm)})
		page, err2 := server.Elicit(ctx, "page",
			mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Go", URL: "https://example.com/x"})
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		said, err := server.Sample(ctx, "model",
			mcp.CreateMessageParams{MaxTokens: 5,
				Tools: []*mcp.Tool{{Name: "t", InputSchema: []byte(`{"type":"object"}`)}},
				Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser,
						Content: mcp.SamplingContent{&mcp.TextContent{Text: "hi"}}}}})
		if err != nil {
			return "", err
		}
		roots, err := server.Roots(ctx, "roots")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s, %s %q, %s, %s", form.Action, form.Content, page.Action,
			page.Content, said.Content[0].(*mcp.TextContent).Text, roots[0].URI), nil
	})
	eras(t, func(t *testing.T, era mcp.Era) {
		meet := make(chan struct{}) // of the two questions that a modern server asks at once
		o := Options{Era: era, Roots: []mcp.Root{{URI: "file:///home"}},
			ElicitModes: []string{mcp.ElicitForm, mcp.ElicitURL}, SampleTools: true}
		o.OnElicit = func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if era == mcp.Modern {
				select {
				case meet <- struct{}{}:
				case <-meet:
				}
			}
			switch p.Mode {
			case mcp.ElicitForm:
				assert.Check(t, p.Message == "Who?" && p.URL == "")
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: []byte(`{"name":"Ada"}`)}, nil
			case mcp.ElicitURL:
				assert.Check(t, p.URL == "https://example.com/x" && p.RequestedSchema == nil)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"stray":1}`)},
					nil
			}
			return nil, errors.New("no mode")
		}
		o.OnSample = func(_ context.Context, p mcp.CreateMessageParams) (*mcp.CreateMessageResult,
			error) {
			text := p.Messages[0].Content[0].(*mcp.TextContent).Text + p.Tools[0].Name
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m",
				Content: mcp.SamplingContent{&mcp.TextContent{Text: text}}}, nil
		}
		c := connectTo(t, s, o)
		for name, way := range ways {
			t.Run(name, func(t *testing.T) {
				got, err := way(t.Context(), c)
				assert.NilError(t, err)
				assert.Equal(t, got,
					`accept {"name":"Ada","size":"M"}, accept "", hit, file:///home`)
			})
		}
	})
}

// Declining is an answer, and does not affect the other questions.
func TestDeclined(t *testing.T) {
	s := asking(t, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "form",
			mcp.ElicitParams{Message: "Who?", RequestedSchema: []byte(nameForm)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s%s", r.Action, r.Content), nil
	})
	for _, action := range []mcp.ElicitAction{mcp.ElicitDecline, mcp.ElicitCancel} {
		eras(t, func(t *testing.T, era mcp.Era) {
			c := connectTo(t, s,
				Options{Era: era,
					OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: action, Content: []byte(`{"size":7}`)}, nil
					}})
			got, err := ways["tool"](t.Context(), c)
			assert.NilError(t, err)
			assert.Equal(t, got, string(action))
		})
	}
}

// A callback may make calls with its context.
func TestCallsWithinQuestions(t *testing.T) {
	s := asking(t, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "form",
			mcp.ElicitParams{Message: "Who?", RequestedSchema: []byte(nameForm)})
		if err != nil {
			return "", err
		}
		return string(r.Content), nil
	})
	addTool(t, s, "who", say("Ada"))
	eras(t, func(t *testing.T, era mcp.Era) {
		var c *Client
		c = connectTo(t, s,
			Options{Era: era,
				OnElicit: func(ctx context.Context, _ mcp.ElicitParams) (*mcp.ElicitResult, error) {
					r, err := c.CallTool(ctx, "who", nil)
					if err != nil {
						return nil, err
					}
					return &mcp.ElicitResult{Action: mcp.ElicitAccept,
						Content: fmt.Appendf(nil, `{"name":%q}`,
							r.Content[0].(*mcp.TextContent).Text)}, nil
				}})
		got, err := ways["tool"](t.Context(), c)
		assert.NilError(t, err)
		assert.Equal(t, got, `{"name":"Ada","size":"M"}`)
	})
}

// A server that handles the rounds itself gets its answers, round by round.
func TestManyRounds(t *testing.T) {
	s := asking(t, func(ctx context.Context) (string, error) {
		answers, state := server.Inputs(ctx)
		if len(state) == 9 {
			return fmt.Sprint(len(answers)), nil
		}
		q, err := mcp.NewInputRequest(mcp.MethodElicit,
			mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "?", RequestedSchema: []byte(nameForm)})
		if err != nil {
			return "", err
		}
		return "", server.RequireInput(ctx, mcp.InputRequests{"q" + state: q}, state+"x")
	})
	eras(t, func(t *testing.T, era mcp.Era) {
		var asked atomic.Int32
		c := connectTo(t, s,
			Options{Era: era,
				OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked.Add(1)
					return accept(`{"name":"Ada"}`)(ctx, p)
				}})
		for name, way := range ways {
			asked.Store(0)
			got, err := way(t.Context(), c)
			assert.NilError(t, err, name)
			assert.Equal(t, got, "9", name)
			assert.Equal(t, asked.Load(), int32(9), name)
		}
	})
}

// The client declares the capabilities of its callbacks in both eras, and in the modern era also
// the tasks extension.
func TestDeclares(t *testing.T) {
	onSample := func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult,
		error) {
		return nil, nil
	}
	for want, o := range map[string]Options{
		`{}`: {ElicitModes: []string{mcp.ElicitURL},
			SampleTools: true},
		`{"elicitation":{"form":{}}}`: {OnElicit: accept(`{}`)},
		`{"elicitation":{"url":{}}}`: {OnElicit: accept(`{}`),
			ElicitModes: []string{mcp.ElicitURL}},
		`{"elicitation":{"form":{},"url":{}}}`: {OnElicit: accept(`{}`),
			ElicitModes: []string{mcp.ElicitForm, mcp.ElicitURL}},
		`{"sampling":{}}`: {OnSample: onSample},
		`{"roots":{},"sampling":{"tools":{}}}`: {OnSample: onSample, SampleTools: true,
			Roots: []mcp.Root{}},
		`{"sampling":{},"elicitation":{"form":{}}}`: {OnSample: onSample, OnElicit: accept(`{}`)},
	} {
		lines := make(chan message, 10)
		connect(t, o, func(s *scripted) {
			probe := s.read()
			s.refuse(probe, -32601, "Method not found")
			initialize := s.read()
			s.reply(initialize, initialized)
			lines <- probe
			lines <- initialize
			s.read()
		})
		modern := strings.Replace(want[:len(want)-1]+
			`,"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "{,", "{", 1)
		assert.Assert(t,
			strings.Contains((<-lines).line, `"io.modelcontextprotocol/clientCapabilities":`+
				modern), modern)
		assert.Assert(t, strings.Contains((<-lines).line, `"capabilities":`+want), want)
	}
	_, err := Options{ElicitModes: []string{"voice"}}.Connect(t.Context(),
		stream(func(*scripted) {}))
	assert.Error(t, err,
		`server "server": Options.ElicitModes: "voice" is neither "form" nor "url"`)
}
