package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// serveForms serves both eras. Its tool order asks for a form with several fields and returns the
// answer; write samples from the model of the client.
func serveForms([]string) {
	catalog := dispatch.NewCatalog()
	type none struct{}
	dispatch.Add(catalog, dispatch.Spec{Name: "order", Summary: "Orders.", Type: dispatch.Read},
		func(ctx context.Context, _ none) (string, error) {
			answer, err := server.Elicit(ctx, "order",
				mcp.ElicitParams{Message: "What shall it be?",
					RequestedSchema: []byte(`{"type":"object","properties":{` +
						`"name":{"type":"string","minLength":2},"count":{"type":"integer","default":7},"color":{"type":"string","enum":["red","green"]},"gift":{"type":"boolean"}},"required":["name"]}`)})
			if err != nil {
				return "", err
			}
			return string(answer.Action) + " " + string(answer.Content), nil
		})
	dispatch.Add(catalog, dispatch.Spec{Name: "write", Summary: "Writes.", Type: dispatch.Read},
		func(ctx context.Context, _ none) (string, error) {
			m, err := server.Sample(ctx, "text",
				mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser,
						Content: mcp.SamplingContent{&mcp.TextContent{Text: "Write\x07."}}}}})
			if err != nil {
				return "", err
			}
			text, ok := m.Content[0].(*mcp.TextContent)
			if !ok {
				return "", fmt.Errorf("no text: %T", m.Content[0])
			}
			return m.Model + " wrote: " + text.Text, nil
		})
	s := server.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		server.Info{Name: "forms", Version: "1"}, catalog)
	if err := s.ServeStdio(context.Background()); err != nil {
		panic(err)
	}
}

func TestQuestionsAtTheTerminal(t *testing.T) {
	t.Parallel()
	got := onTerminal(t, "Ann\n\ny\n", "call ask", "library")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{"action":"accept","content":{"name":"Ann","n":7}}`+"\n")
	assert.Assert(t, strings.HasPrefix(got.stderr, self+" asks:\n  Who?\n"), got.stderr)

	got = onTerminal(t, ".decline\n", "call ask", "library")
	assert.Equal(t, got.stdout, `{"action":"decline"}`+"\n")
	got = onTerminal(t, "Ann\n", "call ask", "library")
	assert.Equal(t, got.stdout, `{"action":"cancel"}`+"\n")
	got = onTerminal(t, "y\n", "call page", "library")
	assert.Equal(t, got.stdout, `{"action":"decline"}`+"\n", "not with ftp")

	// The declared capabilities are those that are implemented.
	assert.Equal(t, onTerminal(t, "", "call can", "library").stdout,
		`{"sampling":{},"elicitation":{"form":{},"url":{}}}`+"\n")
	assert.Equal(t, against(t, "call can", "library").stdout, "{}\n")
	for _, half := range []func(*termtest.Captured){func(c *termtest.Captured) {
		c.InTerminal = false
	}, func(c *termtest.Captured) { c.Err.Terminal = false }} {
		c := termtest.Capture(true)
		half(&c)
		assert.Equal(t, runWith(t.Context(), c, words("call can", fixture("library")...)...).stdout,
			"{}\n")
	}
}

func TestQuestionsOfTheBuiltInServer(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		for typed, gone := range map[string]bool{"y\n": true, "n\n": false, "": false} {
			dir := t.TempDir()
			file := filepath.Join(dir, "a")
			assert.NilError(t, os.WriteFile(file, nil, 0o600))
			c := termtest.Capture(true)
			c.In = strings.NewReader(typed)
			got := runWith(t.Context(), c, "call", "fs_delete", "path=a", "--write", "--root", dir,
				"--era", era)
			assert.Assert(t, strings.HasPrefix(got.stderr, "built-in asks:\n  Delete a file"),
				got.stderr)
			assert.Equal(t, got.code == 0, gone, got.stderr)
			_, err := os.Stat(file)
			assert.Equal(t, os.IsNotExist(err), gone, "%s %q", era, typed)
		}
	}
}

func TestQuestionWithoutTerminal(t *testing.T) {
	t.Parallel()
	const nobody = "the server asks a question, and nobody can answer it here\nhint: " +
		term.HintTerminal + "\n"
	for _, tt := range []struct{ args, fixture, more, stderr string }{
		{"call ask", "library", "", "stdwire: " + self +
			": ask: Client does not support form elicitation.\nhint: " + term.HintTerminal + "\n"},
		{"call first", "library", "", "stdwire: " + self +
			": first: a web page has to be visited first: Log in.\nhint: if you trust the server, open https://example.com/a and try again\n"},
		{"call unheard-of", "library", "", "stdwire: " + self +
			": unheard-of: there is no such tool; there are ask, page, log, can, picture, first\nhint: a tool that asks may exist only at a terminal: run it with stdin and stderr on a terminal\n"},
		{"call t", "asking", "elicitation/create", "stdwire: " + self + ": t: " + nobody},
		{"read x:y", "asking", "elicitation/create", "stdwire: " + self + ": x:y: " + nobody},
		{"call t", "asking", "capability", "stdwire: " + self + ": t: " + nobody},
		{"call t", "asking", "sampling/createMessage", "stdwire: " + self +
			": t: the server asks a model, and none can answer it here\nhint: --sample COMMAND answers it, and at a terminal you do: run it with stdin and stderr on one\n"},
		{"call t", "asking", "roots/list", "stdwire: " + self +
			": t: the server asks for roots/list, which stdwire does not give\n"},
	} {
		got := against(t, tt.args, tt.fixture, tt.more)
		assert.Equal(t, got, ran{5, "", tt.stderr}, "%s %s", tt.args, tt.more)
	}
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	got := run(t, "call", "fs_delete", "path=a", "--write", "--root", dir)
	assert.Equal(t, got.code, 7)
	assert.Equal(t, lastLine(got.stderr), "hint: confirm it with --yes, or at a terminal")
	assert.Equal(t, run(t, "call", "fs_delete", "path=a", "--write", "--root", dir, "--confirm",
		"trust").code, 0)
}

func TestInterruptedWhileAsking(t *testing.T) {
	for _, args := range [][]string{
		words("call ask", fixture("library")...),
		{"call", "fs_delete", "path=a", "--write", "--era", "modern", "--root"},
	} {
		if args[1] == "fs_delete" {
			dir := t.TempDir()
			assert.NilError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
			args = append(args, dir)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		c := termtest.Capture(true)
		c.In = signallingReader{func() { cancel(command.SignalError{Signal: os.Interrupt}) },
			make(chan struct{})}
		got := runWith(ctx, c, args...)
		assert.Equal(t, got.code, 130, got.stderr)
		assert.Equal(t, got.stdout, "")
		assert.Assert(t, cmp.Contains(got.stderr, "\nCancelled.\n"))
		assert.Assert(t, strings.HasSuffix(lastLine(got.stderr), ": interrupted"), got.stderr)
	}
}

// A signallingReader reports that it is read from, and blocks.
type signallingReader struct {
	tell func()
	ever chan struct{}
}

func (r signallingReader) Read([]byte) (int, error) {
	r.tell()
	<-r.ever
	return 0, nil
}
