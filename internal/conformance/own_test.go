//go:build linux

package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An own is a client of this module with all features, and a record of what it receives.
type own struct {
	*client.Client
	t       *testing.T
	asked   func(context.Context) error // called before a form is filled in, if set
	updated chan string
	tools   chan []*mcp.Tool
	prompts chan []*mcp.Prompt
	logs    chan mcp.LoggingMessageParams

	mu      sync.Mutex
	session string // the latest session in a request
}

// ownAnswer is the user's answer to every question. Numbers that are not integers are not possible:
// the schemas do not allow them.
const ownAnswer = `{"name":"Ada","username":"ada","email":"ada@example.com","ok":true,"color":"red","context":"tests","confirm":true,"score":7}`

// options returns options of a client that passes everything it receives to o.
func (o *own) options() client.Options {
	return client.Options{
		OnElicit: func(ctx context.Context, _ mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if o.asked != nil {
				if err := o.asked(ctx); err != nil {
					return nil, err
				}
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(ownAnswer)},
				nil
		},
		OnSample: func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "none",
				Content: mcp.SamplingContent{&mcp.TextContent{Text: "Paris"}}}, nil
		},
		Roots:             []mcp.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}},
		OnResourceUpdated: func(uri string) { o.updated <- uri },
		OnToolsChanged: func(all []*mcp.Tool, err error) {
			if err == nil {
				o.tools <- all
			}
		},
		OnPromptsChanged: func(all []*mcp.Prompt, err error) {
			if err == nil {
				o.prompts <- all
			}
		},
		OnLog:  func(m mcp.LoggingMessageParams) { o.logs <- m },
		Logger: slog.New(slog.DiscardHandler),
	}
}

// RoundTrip records the session of a request.
func (o *own) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.session = cmp.Or(r.Header.Get(mcp.HeaderSessionID), o.session)
	o.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

func (o *own) lastSession() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.session
}

// newOwn connects to the endpoint. When the test ends, it closes the client and asserts that
// nothing is left running.
func newOwn(t *testing.T, url string, revision mcp.Revision) *own {
	t.Helper()
	o, err := connectOwn(t, url, revision, nil)
	assert.NilError(t, err)
	assert.Equal(t, o.Revision(), revision)
	return o
}

// connectOwn is newOwn with headers, and with the error.
func connectOwn(t *testing.T, url string, revision mcp.Revision, header http.Header) (*own, error) {
	t.Helper()
	return dialOwn(t, url, revision, streamable.Options{Header: header})
}

// dialOwn is connectOwn with other options.
func dialOwn(t *testing.T, url string, revision mcp.Revision, how streamable.Options) (*own,
	error) {
	t.Helper()
	o := &own{
		t: t, updated: make(chan string, 1000), tools: make(chan []*mcp.Tool, 100),
		prompts: make(chan []*mcp.Prompt, 100),
		logs:    make(chan mcp.LoggingMessageParams, 1000),
	}
	options := o.options()
	options.Revision = revision
	how.HTTP = &http.Client{Transport: o}
	var err error
	o.Client, err = options.Connect(t.Context(), how.Dial(url))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		assert.Check(t, o.Close())
		<-o.Done()
	})
	return o, nil
}

// text calls a tool and returns the text of its result, with the types of other content.
func (o *own) text(tool string, arguments string, options ...client.CallOption) (string, error) {
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	result, err := o.CallTool(ctx, tool, json.RawMessage(arguments), options...)
	if err != nil {
		return "", err
	}
	var said []string
	for _, block := range result.Content {
		switch b := block.(type) {
		case *mcp.TextContent:
			said = append(said, b.Text)
		case *mcp.ImageContent:
			said = append(said, b.MIMEType)
		case *mcp.AudioContent:
			said = append(said, b.MIMEType)
		case *mcp.EmbeddedResource:
			said = append(said, b.Resource.Text)
		default:
			said = append(said, fmt.Sprintf("%T", block))
		}
	}
	if result.IsError {
		said = append(said, "(error)")
	}
	return strings.Join(said, "|"), nil
}

func (o *own) says(want, tool, arguments string, options ...client.CallOption) {
	o.t.Helper()
	got, err := o.text(tool, arguments, options...)
	assert.NilError(o.t, err, tool)
	assert.Equal(o.t, got, want, tool)
}

// quiet fails the test if the server has sent unexpected messages. The response to a cancelled call
// is permitted.
func (o *own) quiet() {
	o.t.Helper()
	noise := o.Stats()
	noise.Late = 0
	noise.LastReceived = time.Time{}
	assert.DeepEqual(o.t, noise, client.Stats{})
}

// next waits for the next value.
func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing has come for a minute")
		panic("unreachable")
	}
}
