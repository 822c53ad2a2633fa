//go:build unix

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
	"gotest.tools/v3/assert"
)

// The pinned language server.
const lspPackages = `{"private":true,"dependencies":{"typescript-language-server":"5.1.3","typescript":"5.9.3"}}`

// languageServer returns the command of the TypeScript language server. It installs the server
// first if necessary.
func languageServer(t *testing.T) (node, script string) {
	root := os.Getenv("STDWIRE_NODE_DIR")
	if root == "" {
		t.Skip("STDWIRE_NODE_DIR is not set: it names a folder for Node packages, to be kept between runs")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("Node.js is not installed: %v", err)
	}
	dir, err := filepath.Abs(filepath.Join(root, "lsp"))
	assert.NilError(t, err)
	manifest := filepath.Join(dir, "package.json")
	// written last, so that an incomplete installation does not count
	installed := filepath.Join(dir, "installed")
	if have, err := os.ReadFile(installed); err != nil || string(have) != lspPackages {
		assert.NilError(t, os.MkdirAll(dir, 0o755))
		assert.NilError(t, os.WriteFile(manifest, []byte(lspPackages), 0o644))
		npm := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund")
		npm.Dir = dir
		out, err := npm.CombinedOutput()
		assert.NilError(t, err, "npm install: %s", out)
		assert.NilError(t, os.WriteFile(installed, []byte(lspPackages), 0o644))
	}
	return node, filepath.Join(dir, "node_modules", "typescript-language-server", "lib", "cli.mjs")
}

// stdio is a child's two pipes as one stream.
type stdio struct{ *child.Process }

func (s stdio) Read(b []byte) (int, error)  { return s.Stdout().Read(b) }
func (s stdio) Write(b []byte) (int, error) { return s.Stdin().Write(b) }
func (s stdio) Close() error {
	return errors.Join(s.Stdin().Close(), s.Stdout().Close())
}

type (
	object   map[string]any
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	location struct {
		URI   string `json:"uri"`
		Range struct {
			Start position `json:"start"`
		} `json:"range"`
		TargetURI            string `json:"targetUri"` // of a LocationLink
		TargetSelectionRange struct {
			Start position `json:"start"`
		} `json:"targetSelectionRange"`
	}
)

// An editor is the client's side: it handles the requests and notifications of a language server.
type editor struct {
	mu          sync.Mutex
	asked       map[string]int
	diagnostics chan string // a text for each published message
}

func (e *editor) handle(_ context.Context, req *rpc.Request) (any, error) {
	if !req.IsNotification() {
		e.mu.Lock()
		e.asked[req.Method]++
		e.mu.Unlock()
	}
	switch req.Method {
	case "workspace/configuration":
		var params struct {
			Items []any `json:"items"`
		}
		err := json.Unmarshal(req.Params, &params)
		return make([]object, len(params.Items)), err
	case "window/workDoneProgress/create", "client/registerCapability",
		"client/unregisterCapability", "window/showMessageRequest":
		return nil, nil
	case "textDocument/publishDiagnostics":
		var params struct {
			Diagnostics []struct {
				Message string `json:"message"`
			} `json:"diagnostics"`
		}
		if err := json.Unmarshal(req.Params, &params); err != nil {
			return nil, err
		}
		for _, d := range params.Diagnostics {
			select {
			case e.diagnostics <- d.Message:
			default:
			}
		}
		return nil, nil
	}
	return nil, rpc.ErrMethodNotFound
}

const (
	greetTS = "export function greet(name: string): string {\n\treturn `Hello, ${name} 👋`;\n}\n"
	mainTS  = "import { greet } from './greet';\n\nconst text: string = greet('Zoë');\nexport const wrong: number = text;\n"
)

// Package rpc as the client of a real language server: header framing, requests from both sides,
// cancellation, and an orderly end.
func TestLanguageServer(t *testing.T) {
	node, script := languageServer(t)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	for name, text := range map[string]string{"greet.ts": greetTS, "main.ts": mainTS,
		"tsconfig.json": `{"compilerOptions":{"strict":true}}`} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	uri := func(name string) string {
		return (&url.URL{Scheme: "file", Path: filepath.Join(dir, name)}).String()
	}

	server, err := child.Start(ctx,
		child.Config{Command: node, Args: []string{script, "--stdio"}, Dir: dir,
			Grace: time.Second})
	assert.NilError(t, err)
	defer server.Close()
	e := &editor{asked: make(map[string]int), diagnostics: make(chan string, 100)}
	var malformed []string // accessed only by the reader
	peer := rpc.Options{
		Framing: framing.ContentLength, Handler: e.handle, Cancellation: lsp.Cancellation(),
		Hooks: rpc.Hooks{Stray: func(frame []byte, reason string) {
			if !strings.Contains(reason, "no call that waits") {
				// a late response to a cancelled request is not an error
				malformed = append(malformed, fmt.Sprintf("%s: %.200s", reason, frame))
			}
		}},
	}.New(stdio{server})
	defer peer.Close()
	call := func(method string, params, result any) {
		t.Helper()
		assert.NilError(t, peer.Call(ctx, method, params, result), "%s\n%s", method,
			server.StderrTail())
	}
	notify := func(method string, params any) {
		t.Helper()
		assert.NilError(t, peer.Notify(ctx, method, params))
	}

	var initialized struct {
		Capabilities struct {
			HoverProvider      any `json:"hoverProvider"`
			DefinitionProvider any `json:"definitionProvider"`
		} `json:"capabilities"`
	}
	call("initialize", object{
		// Without the second, faster and less capable server that it starts by default.
		"initializationOptions": object{"tsserver": object{"useSyntaxServer": "never"}},
		"processId":             os.Getpid(), "rootUri": uri(""),
		"workspaceFolders": []object{{"uri": uri(""), "name": "test"}},
		"capabilities": object{
			"window":    object{"workDoneProgress": true},
			"workspace": object{"configuration": true, "workspaceFolders": true},
			"textDocument": object{"hover": object{"contentFormat": []string{"markdown"}},
				"publishDiagnostics": object{}},
		},
	}, &initialized)
	assert.Assert(t, initialized.Capabilities.HoverProvider != nil &&
		initialized.Capabilities.DefinitionProvider != nil)
	notify("initialized", object{})
	notify("textDocument/didOpen",
		object{"textDocument": object{"uri": uri("main.ts"), "languageId": "typescript",
			"version": 1, "text": mainTS}})

	// "greet" in line 3. The request sees the notification before it, on the server's side as well.
	greet := object{"textDocument": object{"uri": uri("main.ts")}, "position": position{2, 22}}
	var hover struct {
		Contents any `json:"contents"`
	}
	call("textDocument/hover", greet, &hover)
	assert.Assert(t, strings.Contains(fmt.Sprint(hover.Contents), "greet(name: string): string"),
		"%v", hover.Contents)

	var definition []location
	call("textDocument/definition", greet, &definition)
	assert.Assert(t, len(definition) > 0)
	target, start := definition[0].URI, definition[0].Range.Start
	if target == "" {
		target, start = definition[0].TargetURI, definition[0].TargetSelectionRange.Start
	}
	assert.Equal(t, target, uri("greet.ts"))
	assert.Equal(t, start.Line, 0)

	for message := ""; !strings.Contains(message, "not assignable"); {
		select {
		case message = <-e.diagnostics:
		case <-ctx.Done():
			t.Fatal("no diagnostic for a wrong type")
		}
	}

	assert.ErrorIs(t, peer.Call(ctx, "stdwire/unknown", object{}, nil), rpc.ErrMethodNotFound)

	// A cancelled request still gets a response: -32800, or the result if that was faster.
	answered := map[string]int{}
	for range 20 {
		references := object{"textDocument": greet["textDocument"], "position": greet["position"],
			"context": object{"includeDeclaration": true}}
		c, err := peer.Start(ctx, "textDocument/references", references)
		assert.NilError(t, err)
		notify("$/cancelRequest", object{"id": c.ID()})
		if err = c.Wait(ctx, nil); err == nil {
			answered["result"]++
		} else {
			assert.ErrorIs(t, err, &rpc.Error{Code: -32800})
			answered["-32800"]++
		}
	}
	t.Logf("cancelled requests were answered with %v", answered)

	// A call whose context has ended does not wait, and its late response has no effect.
	given, giveUp := context.WithCancel(ctx)
	giving, err := peer.Start(given, "textDocument/references",
		object{"textDocument": greet["textDocument"], "position": greet["position"],
			"context": object{}})
	assert.NilError(t, err)
	giveUp()
	if err := giving.Wait(given, nil); err != nil {
		assert.ErrorIs(t, err, context.Canceled)
	}
	call("textDocument/hover", greet, nil)

	e.mu.Lock()
	t.Logf("the server asked for %v", e.asked)
	assert.Assert(t, len(e.asked) > 0, "the server asked for nothing")
	e.mu.Unlock()

	// The end: after the response to shutdown and the notification exit, the process exits with
	// status 0, and the connection ends.
	var null json.RawMessage
	call("shutdown", nil, &null)
	assert.Equal(t, string(null), "null")
	notify("exit", nil)
	select {
	case <-server.Done():
	case <-ctx.Done():
		t.Fatalf("the server did not exit: %s", server.StderrTail())
	}
	exit := server.Wait()
	assert.Assert(t, exit.Status == 0 && !exit.Stopped, "%v", exit)
	assert.Equal(t, peer.Wait(), io.EOF)
	assert.Equal(t, len(malformed), 0, "%q", malformed)
	assert.ErrorIs(t, peer.Call(ctx, "late", nil, nil), rpc.ErrClosed)

	// Nothing is left running: no process of the server's group, and no goroutine of this package.
	eventually.True(t, "no process is left", func() bool { return !groupRuns(t, server.Pid()) })
	eventually.AtMost(t, "goroutines", before, runtime.NumGoroutine)
}

// groupRuns reports whether a process of a group is left. A zombie that its new parent has not
// reaped does not count.
func groupRuns(t *testing.T, group int) bool {
	if syscall.Kill(-group, 0) == syscall.ESRCH {
		return false
	}
	out, err := exec.Command("ps", "-e", "-o", "pgid=", "-o", "stat=").Output()
	assert.NilError(t, err)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == strconv.Itoa(group) &&
			fields[1][0] != 'Z' {
			return true
		}
	}
	return false
}
