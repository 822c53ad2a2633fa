package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/dispatch/cli"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/server"
)

// An outcome is the result of a call by any surface.
type outcome struct {
	Success bool
	Data    json.RawMessage
	Error   *struct {
		Code        dispatch.Code
		Recoverable bool
	}
	exit, status int // of the command line, of HTTP
}

// A caller calls an operation by one of the surfaces.
type caller func(t *testing.T, operation, arguments string, confirmed bool) outcome

func outcomeOf(t *testing.T, text []byte) (o outcome) {
	t.Helper()
	assert.NilError(t, json.Unmarshal(text, &o), string(text))
	return o
}

// surfaces returns callers for the operations of a catalog.
var surfaces = map[string]func(*testing.T, *dispatch.Catalog) caller{
	"mcp": func(t *testing.T, c *dispatch.Catalog) caller {
		trusting, asking := overMCP(t, c, true), overMCP(t, c, false)
		return func(t *testing.T, operation, arguments string, confirmed bool) outcome {
			t.Helper()
			use := asking
			if confirmed {
				use = trusting
			}
			service, action, _ := strings.Cut(operation, ".")
			result, err := use.CallTool(t.Context(), service,
				json.RawMessage(`{"action":"`+action+`","params":`+arguments+`}`))
			assert.NilError(t, err)
			return outcomeOf(t, result.StructuredContent)
		}
	},
	"cli": func(t *testing.T, c *dispatch.Catalog) caller {
		d := dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(c)
		return func(t *testing.T, operation, arguments string, confirmed bool) outcome {
			t.Helper()
			args := append(strings.Split(operation, "."), "-o", "json", "--json", arguments)
			if op, ok := c.Lookup(operation); ok && op.Destructive() && confirmed {
				args = append(args, "--yes")
			}
			var out, errs bytes.Buffer
			code := cli.Run(t.Context(), d, args,
				cli.IO{Program: "test", In: strings.NewReader(""), Out: &out, Err: &errs})
			o := outcomeOf(t, append(out.Bytes(), errs.Bytes()...))
			o.exit = code
			return o
		}
	},
	"http": func(t *testing.T, c *dispatch.Catalog) caller {
		over := httptest.NewServer(
			api.Options{}.New(dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(c)))
		t.Cleanup(over.Close)
		return func(t *testing.T, operation, arguments string, confirmed bool) outcome {
			t.Helper()
			service, action, _ := strings.Cut(operation, ".")
			body := fmt.Sprintf(`{"action":%q,"params":%s,"confirm":%v}`, action, arguments,
				confirmed)
			response, err := http.Post(over.URL+"/v1/"+service, "application/json",
				strings.NewReader(body))
			assert.NilError(t, err)
			defer response.Body.Close()
			var text bytes.Buffer
			_, err = text.ReadFrom(response.Body)
			assert.NilError(t, err)
			o := outcomeOf(t, text.Bytes())
			o.status = response.StatusCode
			return o
		}
	},
}

func overMCP(t *testing.T, c *dispatch.Catalog, trust bool) *client.Client {
	t.Helper()
	o := server.Options{Logger: slog.New(slog.DiscardHandler), Tools: server.ToolPerService,
		TrustClients: trust}
	return mcptest.Connect(t, o.New(server.Info{Name: "test", Version: "1"}, c),
		client.Options{Logger: slog.New(slog.DiscardHandler)})
}

// everything opens the built-in catalog with all gates, on a directory with a few files.
func everything(t *testing.T) *target.BuiltinServer {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "alpha\nbeta\n", "b.txt": "gamma\n",
		"sub/c.txt": "delta\n"} {
		assert.NilError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	o, err := (&target.BuiltinFlags{Roots: []string{"main=" + dir}, Write: true, Exec: true,
		Eval: runtime.GOOS != "windows"}).Open(slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, o.Close()) })
	return o
}

// A step is a call of an operation.
type step struct {
	operation, arguments string
	confirmed            bool
	code                 dispatch.Code // "" for success, anyCode for whatever it is
}

const anyCode dispatch.Code = "any"

// script calls built-in operations with valid and invalid arguments.
var script = []step{
	{"fs.read", `{"path":"a.txt"}`, false, ""},
	{"fs.read", `{"path":"none"}`, false, dispatch.NotFound},
	{"fs.read", `{"path":"../x"}`, false, dispatch.PermissionDenied},
	{"fs.read", `{"path":"sub"}`, false, dispatch.StateError},
	{"fs.read", `{}`, false, dispatch.MissingParam},
	{"fs.read", `{"path":7}`, false, dispatch.InvalidInput},
	{"fs.read", `{"path":"a.txt","depth":1}`, false, dispatch.InvalidInput},
	{"fs.read", `{"path":"a.txt","instance":"main"}`, false, ""},
	{"fs.read", `{"path":"a.txt","instance":"other"}`, false, dispatch.UnknownInstance},
	{"fs.list", `{"path":"."}`, false, ""},
	{"fs.stat", `{"path":"a.txt"}`, false, ""},
	{"fs.search", `{"pattern":"a$"}`, false, ""},
	{"fs.search", `{"pattern":"("}`, false, dispatch.InvalidInput},
	{"fs.write", `{"path":"new.txt","content":"new\n"}`, false, ""},
	{"fs.write", `{"path":"new.txt","content":"newer\n"}`, false, dispatch.ConfirmationRequired},
	{"fs.write", `{"path":"new.txt","content":"newer\n"}`, true, ""},
	{"fs.edit", `{"path":"a.txt","old":"beta","new":"BETA"}`, false, ""},
	{"fs.edit", `{"path":"a.txt","old":"beta","new":"BETA"}`, false, dispatch.StateError},
	{"fs.move", `{"from":"b.txt","to":"moved.txt"}`, false, ""},
	{"fs.move", `{"from":"a.txt","to":"moved.txt","overwrite":true}`, false,
		dispatch.ConfirmationRequired},
	{"fs.move", `{"from":"a.txt","to":"moved.txt","overwrite":true}`, true, ""},
	{"fs.delete", `{"path":"moved.txt"}`, false, dispatch.ConfirmationRequired},
	{"fs.delete", `{"path":"moved.txt"}`, true, ""},
	{"fs.delete", `{"path":"moved.txt"}`, true, dispatch.NotFound},

	{"proc.read", `{}`, false, dispatch.NotRunning},
	{"proc.start", `{"command":"no-such-program"}`, false, dispatch.NotFound},
	{"proc.start", `{"command":"SELF","args":["fixture:cat"],"dir":"none"}`, false,
		dispatch.NotFound},
	{"proc.start", `{"command":"SELF","args":["fixture:cat"],"dir":"sub"}`, false, ""},
	{"proc.list", `{}`, false, ""},
	{"proc.send", `{"text":"hello"}`, false, ""},
	{"proc.read", `{"pattern":"hello\n"}`, false, ""},
	{"proc.read", `{"pattern":"("}`, false, dispatch.InvalidInput},
	{"proc.read", `{"session":"none"}`, false, dispatch.NotRunning},
	{"proc.wait", `{"timeout_ms":0}`, false, ""},
	{"proc.signal", `{"signal":"KILL"}`, false, ""},
	{"proc.wait", `{}`, false, ""},
	{"proc.send", `{"text":"hello"}`, false, dispatch.StateError},
	{"proc.stop", `{}`, false, ""},
	{"proc.stop", `{"session":"none"}`, false, ""},
	{"proc.stop", `{}`, false, dispatch.NotRunning},
	{"proc.eval", `{"script":"cat; echo err >&2; exit 3","input":"in"}`, false, ""},
	{"proc.eval", `{"script":"sudo id"}`, false, dispatch.Blocked},
	{"proc.nothing", `{}`, false, dispatch.UnknownOperation},
}

// stepsOf returns the script, and a step for each example of the operations that it does not call,
// or one without arguments.
func stepsOf(catalog *dispatch.Catalog) []step {
	steps := slices.Clone(script)
	for _, op := range catalog.Operations() {
		if slices.ContainsFunc(script, func(s step) bool { return s.operation == op.Name() }) {
			continue
		}
		steps = append(steps, step{op.Name(), `{}`, false, anyCode})
		for _, example := range op.Spec().Examples {
			steps = append(steps, step{op.Name(), string(example.Input), true, anyCode})
		}
	}
	return steps
}

// An operation returns the same data and code on all three surfaces.
func TestSurfacesAgree(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	assert.NilError(t, err)
	outcomes := map[string][]outcome{}
	steps := stepsOf(everything(t).Catalog)
	for name, surface := range surfaces {
		o := everything(t)
		call := surface(t, o.Catalog)
		for _, step := range steps {
			if step.operation == "proc.eval" && runtime.GOOS == "windows" { // there is no sh
				step.code = dispatch.UnknownOperation
			}
			arguments := strings.ReplaceAll(step.arguments, "SELF", filepath.ToSlash(program))
			got := call(t, step.operation, arguments, step.confirmed)
			context := fmt.Sprintf("%s: %s %s: %s %v", name, step.operation, step.arguments,
				got.Data, got.Error)
			if step.code != anyCode {
				assert.Check(t, got.Success == (step.code == ""), context)
			}
			if !got.Success && got.Error != nil && step.code != anyCode {
				assert.Check(t, got.Error.Code == step.code, context)
			}
			outcomes[name] = append(outcomes[name], got)
		}
	}
	for i, step := range steps {
		mcp := steady(outcomes["mcp"][i].Data)
		for _, other := range []string{"cli", "http"} {
			assert.Check(t, steady(outcomes[other][i].Data) == mcp, "%s %s:\nmcp  %s\n%s %s",
				step.operation, step.arguments, mcp, other, outcomes[other][i].Data)
			assert.Check(t, reflect.DeepEqual(outcomes[other][i].Error, outcomes["mcp"][i].Error),
				"%s %s: %v, by MCP %v", step.operation, step.arguments, outcomes[other][i].Error,
				outcomes["mcp"][i].Error)
		}
	}
}

// steady removes what differs from call to call.
func steady(data []byte) string {
	varies := []string{"session", "pid", "modified", "started_at", "duration_ms"}
	var clean func(value any) any
	clean = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range varies {
				if _, ok := value[name]; ok {
					value[name] = "…"
				}
			}
			for name, member := range value {
				value[name] = clean(member)
			}
		case []any:
			for i, element := range value {
				value[i] = clean(element)
			}
		}
		return value
	}
	if jsonscan.Valid(data) != nil {
		return string(data)
	}
	var decoded any
	_ = json.Unmarshal(data, &decoded)
	text, _ := json.Marshal(clean(decoded))
	return string(text)
}

// Every code, including those of applications, is the same on all three surfaces, with the exit
// code and HTTP status of the table.
func TestSurfacesAgreeOnEveryCode(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t,
		c.Declare(dispatch.CodeInfo{Code: "teapot", HTTPStatus: 418, ExitCode: 99,
			Summary: "It is one."}))
	for _, info := range c.Codes() {
		dispatch.Add(c, dispatch.Spec{Name: "fail." + string(info.Code), Summary: "Fails.",
			Type: dispatch.Read, Errors: []dispatch.Code{info.Code}},
			func(context.Context, struct{}) (struct{}, error) {
				return struct{}{}, dispatch.Errorf(info.Code, "failed")
			})
	}
	for name, surface := range surfaces {
		call := surface(t, c)
		for _, info := range c.Codes() {
			got := call(t, "fail."+string(info.Code), `{}`, false)
			assert.Assert(t, !got.Success && got.Error != nil, "%s %s", name, info.Code)
			assert.Equal(t, got.Error.Code, info.Code, name)
			assert.Equal(t, got.Error.Recoverable, info.Recoverable, "%s %s", name, info.Code)
			switch name {
			case "cli":
				assert.Equal(t, got.exit, info.ExitCode, info.Code)
			case "http":
				assert.Equal(t, got.status, info.HTTPStatus, info.Code)
			}
		}
	}
}
