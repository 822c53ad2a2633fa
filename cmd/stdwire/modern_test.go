package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// serveModern has a resource that changes each time it is read, and a resource and a prompt that
// ask for a name. With a file, it writes there when the first one is read for the third time.
func serveModern(args []string) {
	s := server.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		server.Info{Name: "modern", Version: "1"}, dispatch.NewCatalog())
	var reads atomic.Int64
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(s.AddResource(
		server.Resource{Resource: mcp.Resource{URI: "count:1", Name: "count"},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				n := reads.Add(1)
				if n == 3 {
					notes := takeNotes(args[0])
					fmt.Fprintln(notes, "three")
					_ = notes.Close()
				}
				defer s.ResourceUpdated(uri)
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: fmt.Sprint(n)}}}, nil
			}}))
	hello := func(ctx context.Context) (string, error) {
		answer, err := server.Elicit(ctx, "name",
			mcp.ElicitParams{Message: "Who?",
				RequestedSchema: []byte(
					`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil || answer.Action != mcp.ElicitAccept {
			return "Hello nobody", err
		}
		name, _ := jsonscan.Text(jsonscan.Member(answer.Content, "name"))
		return "Hello " + name, nil
	}
	must(s.AddResource(
		server.Resource{Resource: mcp.Resource{URI: "hello:1", Name: "hello"},
			Read: func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
				text, err := hello(ctx)
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: text}}}, err
			}}))
	must(s.AddPrompt(server.Prompt{
		Prompt: mcp.Prompt{Name: "hello",
			Arguments: []mcp.PromptArgument{{Name: "who"}, {Name: "city"}}},
		Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
			text, err := hello(ctx)
			return &mcp.GetPromptResult{
				Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: text}}}}, err
		},
		Complete: func(_ context.Context, _, value string,
			settled map[string]string) (mcp.Completion, error) {
			return mcp.Completion{Values: []string{value + " of " + settled["city"]}}, nil
		},
	}))
	must(s.ServeStdio(context.Background()))
}

// A modern server sends changes on a stream and asks with input_required.
func TestModernServer(t *testing.T) {
	t.Parallel()
	notes := newNotes(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		notes.Line(t)
		cancel(command.SignalError{Signal: os.Interrupt})
	}()
	got := runWith(ctx, termtest.Capture(false),
		words("read --watch count:1", fixture("modern", notes.path)...)...)
	assert.Equal(t, got.code, 130, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "1\n2\n"), got.stdout)

	for _, args := range []string{"read hello:1", "prompt hello -o raw"} {
		got = onTerminal(t, "Ann\ny\n", args, "modern")
		assert.Equal(t, strings.TrimSpace(got.stdout), "Hello Ann", got.stderr)
		got = onTerminal(t, ".decline\n", args, "modern")
		assert.Equal(t, strings.TrimSpace(got.stdout), "Hello nobody", got.stderr)
		got = against(t, args, "modern")
		assert.Equal(t, got.code, 5)
		assert.Assert(t,
			strings.HasSuffix(got.stderr,
				": the server asks a question, and nobody can answer it here\nhint: "+
					term.HintTerminal+"\n"), got.stderr)
	}
	assert.Equal(t, against(t, "complete prompt hello who A city=Oslo", "modern"),
		ran{0, "A of Oslo\n", ""})
	assert.Equal(t, against(t, "read hello:2", "modern").code, 5)
}
