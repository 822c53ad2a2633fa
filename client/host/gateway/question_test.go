package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// asksAll asks every kind of question, and returns the answers.
func asksAll(ctx context.Context) (string, error) {
	answer, err := server.Elicit(ctx, "who",
		mcp.ElicitParams{Message: "Who?",
			RequestedSchema: []byte(`{"type":"object","properties":{"who":{"type":"string"}}}`)})
	if err != nil {
		return "", err
	}
	sample, err := server.Sample(ctx, "what",
		mcp.CreateMessageParams{MaxTokens: 10,
			Messages: []mcp.SamplingMessage{
				{Role: mcp.RoleUser,
					Content: mcp.SamplingContent{&mcp.TextContent{Text: "What?"}}}}})
	if err != nil {
		return "", err
	}
	roots, err := server.Roots(ctx, "where")
	if err != nil {
		return "", err
	}
	return string(answer.Content) + " " + sample.Content[0].(*mcp.TextContent).Text + " " +
		uris(roots), nil
}

// answering returns the options of a client that answers all of them with name.
func answering(era mcp.Era, name string) client.Options {
	return client.Options{Era: era, Roots: rooted(name),
		OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept,
				Content: []byte(`{"who":"` + name + `"}`)}, nil
		},
		OnSample: func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m",
				Content: mcp.SamplingContent{&mcp.TextContent{Text: "by " + name}}}, nil
		}}
}

// addAsking makes a server ask during each kind of request.
func addAsking(t *testing.T, s *server.Server, uri, template string) {
	t.Helper()
	read := func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		said, err := asksAll(ctx)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: said}}},
			nil
	}
	assert.NilError(t,
		s.AddPrompt(server.Prompt{
			Prompt: mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "as"}}},
			Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult,
				error) {
				said, err := asksAll(ctx)
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{Description: arguments["as"],
					Messages: []mcp.PromptMessage{
						{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: said}}}}, nil
			}}))
	assert.NilError(t,
		s.AddResource(server.Resource{Resource: mcp.Resource{URI: uri, Name: "a"}, Read: read}))
	assert.NilError(t,
		s.AddResourceTemplate(
			server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: template, Name: "all"},
				Read: func(ctx context.Context, uri string,
					_ map[string]string) (*mcp.ReadResourceResult, error) {
					return read(ctx, uri)
				}}))
	s.Integration().SetUpstreams(server.Upstreams{
		Read: rawRead(func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			if uri != "mem://unlisted" {
				return nil, server.ResourceNotFound(uri)
			}
			return read(ctx, uri)
		})})
}

// Servers may ask questions within prompts/get and resources/read, too.
func TestQuestionsOfPromptsAndResources(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		// A server that is asked first for an unlisted resource, and does not have it.
		other := server.Options{Logger: quiet}.New(server.Info{Name: "first", Version: "1"},
			dispatch.NewCatalog())
		assert.NilError(t,
			other.AddResource(
				server.Resource{Resource: mcp.Resource{URI: "mem://other", Name: "x"},
					Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
						return nil, server.ResourceNotFound(uri)
					}}))
		first := w.server("first", w.era)
		first.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client,
			error) {
			return o.Connect(ctx, w.pipe(other))
		}
		w.gateway.Remove("up")
		assert.NilError(t, w.gateway.Add(first))
		assert.NilError(t, w.gateway.Add(w.server("up", w.era)))
		addAsking(t, w.up, "mem://a", "mem://all/{id}")
		time.Sleep(5 * time.Second)
		const told = `{"who":"Ada"} by Ada Ada`
		w.client(answering(era, "Ada"), func(c *client.Client) {
			p, err := c.GetPrompt(t.Context(), "up__greet", map[string]string{"as": "guest"})
			assert.NilError(t, err)
			assert.Equal(t, p.Messages[0].Content.(*mcp.TextContent).Text, told)
			assert.Equal(t, p.Description, "guest")
			for _, uri := range []string{"mem://a", "mem://all/7", "mem://unlisted"} {
				r, err := c.ReadResource(t.Context(), uri)
				assert.NilError(t, err, uri)
				assert.Equal(t, r.Contents[0].Text, told)
				assert.Equal(t, r.Contents[0].URI, uri)
			}
		})
		w.client(client.Options{Era: era}, func(c *client.Client) { // this client cannot be asked
			_, err := c.GetPrompt(t.Context(), "up__greet", nil)
			assert.Assert(t, err != nil)
			_, err = c.ReadResource(t.Context(), "mem://a")
			assert.Assert(t, err != nil)
		})
	})
}

// Two clients read at once from their own processes, and each is asked about its own request.
func TestQuestionsOfTwoReaders(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		own := w.server("up", w.era)
		own.Sharing = host.PerSession
		assert.NilError(t, w.gateway.Add(own))
		addAsking(t, w.up, "mem://a", "mem://all/{id}")
		time.Sleep(5 * time.Second)
		var reading sync.WaitGroup
		for _, name := range []string{"Ada", "Bob", "Cid"} {
			reading.Go(func() {
				w.client(answering(era, name), func(c *client.Client) {
					for range 10 {
						r, err := c.ReadResource(t.Context(), "mem://a")
						if assert.Check(t, err == nil, "%v", err) {
							assert.Check(t, r.Contents[0].Text == `{"who":"`+name+`"} by `+name+" "+
								name, r.Contents[0].Text)
						}
					}
				})
			})
		}
		reading.Wait()
	})
}

// A client's answer to one server is not sent to another server that has got the name since.
func TestAnswerAfterReplacement(t *testing.T) {
	for _, era := range eras {
		withFixture(t, era, func(t *testing.T, w *fixture) {
			addAsking(t, w.up, "mem://a", "mem://all/{id}")
			other := server.Options{Logger: quiet}.New(server.Info{Name: "other", Version: "1"},
				dispatch.NewCatalog())
			addAsking(t, other, "mem://a", "mem://all/{id}")
			time.Sleep(5 * time.Second)
			o := answering(mcp.Modern, "Ada")
			o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				w.gateway.Remove("up")
				later := w.server("other", era)
				later.Connect = func(ctx context.Context, _ string,
					o client.Options) (*client.Client, error) {
					return o.Connect(ctx, w.pipe(other))
				}
				assert.NilError(t, w.gateway.Add(later))
				time.Sleep(5 * time.Second)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: json.RawMessage(`{"who":"Ada"}`)}, nil
			}
			w.client(o, func(c *client.Client) {
				_, err := c.ReadResource(t.Context(), "mem://a")
				assert.ErrorContains(t, err, "The call that asked has ended")
			})
		})
	}
}

// A question of a legacy server with requests of two clients in flight is refused. With requests of
// one client it goes to that client if it is unambiguous.
func TestAmbiguousQuestion(t *testing.T) {
	for _, era := range eras {
		withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
			began, end := make(chan struct{}), make(chan struct{})
			busy := func() { began <- struct{}{}; <-end }
			assert.NilError(t,
				w.up.AddPrompt(server.Prompt{
					Prompt: mcp.Prompt{Name: "busy", Arguments: []mcp.PromptArgument{{Name: "a"}}},
					Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
						busy()
						return &mcp.GetPromptResult{}, nil
					},
					Complete: func(context.Context, string, string,
						map[string]string) (mcp.Completion, error) {
						busy()
						return mcp.Completion{Values: []string{}}, nil
					}}))
			addAsking(t, w.up, "mem://a", "mem://all/{id}")
			time.Sleep(5 * time.Second)
			complete := func(c *client.Client) error {
				_, err := c.Complete(t.Context(),
					mcp.CompleteReference{Type: mcp.RefPrompt, Name: "up__busy"}, "a", "", nil)
				return err
			}
			get := func(c *client.Client) error {
				_, err := c.GetPrompt(t.Context(), "up__busy", nil)
				return err
			}
			w.client(answering(era, "Ada"), func(ada *client.Client) {
				w.client(answering(era, "Bob"), func(bob *client.Client) {
					for _, tt := range []struct {
						beside *client.Client
						do     func(*client.Client) error
						asked  bool
					}{{ada, complete, true}, {bob, complete, false}, {ada, get, era == mcp.Legacy},
						{bob, get, false}} {
						var other sync.WaitGroup
						other.Go(func() { assert.Check(t, tt.do(tt.beside)) })
						<-began
						_, err := ada.ReadResource(t.Context(), "mem://a")
						assert.Assert(t, (err == nil) == tt.asked, "%v", err)
						end <- struct{}{}
						other.Wait()
					}
				})
			})
		})
	}
}

// A client that does not read the logs of its call does not block questions of other calls after
// its call has ended.
func TestQuestionAfterUnreadLogs(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.add("flood", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			for range 20 {
				_ = server.Log(ctx,
					mcp.LoggingMessageParams{Level: mcp.LevelError,
						Data: fmt.Appendf(nil, "%q", strings.Repeat("x", 100_000))})
				time.Sleep(time.Second)
			}
			return text("done"), nil
		})
		addAsking(t, w.up, "mem://a", "mem://all/{id}")
		time.Sleep(5 * time.Second)
		release := make(chan struct{})
		o := client.Options{Era: mcp.Modern, LogLevel: mcp.LevelDebug,
			OnRawLog: func(json.RawMessage) { <-release }}
		w.client(o, func(stuck *client.Client) {
			var calling sync.WaitGroup
			calling.Go(func() {
				_, err := stuck.CallTool(t.Context(), "up__flood", nil)
				assert.Check(t, err)
			})
			time.Sleep(30 * time.Second)
			w.client(answering(mcp.Modern, "Ada"), func(c *client.Client) {
				_, err := c.ReadResource(t.Context(), "mem://a")
				assert.Check(t, err)
			})
			close(release)
			calling.Wait()
		})
	})
}

// An ambiguous question waits until one call is left, and goes to the client of that call.
func TestQuestionWaitsForOtherCalls(t *testing.T) {
	for _, era := range eras {
		withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
			w.add("busy", func(context.Context, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(4 * time.Second)
				return text("done"), nil
			})
			addAsking(t, w.up, "mem://a", "mem://all/{id}")
			time.Sleep(5 * time.Second)
			w.client(answering(era, "Ada"), func(ada *client.Client) {
				w.client(client.Options{Era: era}, func(bob *client.Client) {
					for _, beside := range []*client.Client{ada, bob} {
						var other sync.WaitGroup
						other.Go(func() {
							_, err := beside.CallTool(t.Context(), "up__busy", nil)
							assert.Check(t, err)
						})
						time.Sleep(time.Second)
						began := time.Now()
						r, err := ada.ReadResource(t.Context(), "mem://a")
						assert.NilError(t, err)
						assert.Equal(t, r.Contents[0].Text, `{"who":"Ada"} by Ada Ada`)
						atOnce := beside == ada && era == mcp.Legacy
						assert.Equal(t, time.Since(began) < time.Second, atOnce)
						other.Wait()
					}
				})
			})
		})
	}
}
