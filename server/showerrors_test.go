package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// withheld is what a client gets in place of the text of an error.
const withheld = "Internal error: its text is withheld; the log has it, and ShowErrors shows it"

// Every function of the application returns the same error. Its text reaches the client if the
// server shows errors, and otherwise the client reads that it is withheld.
func TestShowErrors(t *testing.T) {
	errNone := errors.New("there is no entity ZZ")
	served := func(o server.Options, log *strings.Builder) *server.Server {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		o.Extensions = []server.Extension{{ID: "com.example/x", ServerOnly: true,
			Methods: map[string]func(context.Context, json.RawMessage) (any, error){
				"example/fail": func(context.Context, json.RawMessage) (any, error) {
					return nil, errNone
				},
			}}}
		catalog := dispatch.NewCatalog()
		dispatch.Add(catalog, dispatch.Spec{Name: "op.fail", Summary: "Fails.", Type: dispatch.Read},
			func(context.Context, struct{}) (string, error) { return "", errNone })
		s := o.New(server.Info{Name: "test", Version: "1.2"}, catalog)
		server.AddTool(s, mcp.Tool{Name: "typed"},
			func(context.Context, struct{}) (string, error) { return "", errNone })
		for name, fail := range map[string]func(){"raw": func() {}, "panics": func() { panic(errNone) }} {
			must(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
				Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					fail()
					return nil, errNone
				}}))
		}
		must(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: json.RawMessage(`{"name":"forwarded","inputSchema":{"type":"object"}}`),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return nil, errNone
			}}))
		suggest := func(context.Context, string, string, map[string]string) (mcp.Completion,
			error) {
			return mcp.Completion{}, errNone
		}
		r := resource("x:1")
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return nil, errNone
		}
		must(t, s.AddResource(r))
		template := echoes("x:t/{id}")
		template.Read = func(context.Context, string, map[string]string) (*mcp.ReadResourceResult,
			error) {
			return nil, errNone
		}
		must(t, s.AddResourceTemplate(template))
		p := recites("p")
		p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			return nil, errNone
		}
		p.Complete = suggest
		must(t, s.AddPrompt(p))
		return s
	}
	tools := []string{"typed", "raw", "forwarded", "op_fail"}
	requests := [][2]string{{"resources/read", `{"uri":"x:1"}`},
		{"resources/read", `{"uri":"x:t/7"}`}, {"prompts/get", `{"name":"p"}`},
		{"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`},
		{"example/fail", `{}`}}
	in(t, []string{"2024-11-05", "2025-11-25", newest}, func(t *testing.T, revision string) {
		var log strings.Builder
		k := speak(t, served(server.Options{ShowErrors: true}, &log), revision, `{}`)
		for _, name := range tools {
			m := k.request("tools/call", fmt.Sprintf(`{"name":%q}`, name))
			assert.Assert(t, m.Error == nil, m.raw)
			assert.Assert(t, strings.Contains(m.raw, `"isError":true`) &&
				strings.Contains(m.raw, errNone.Error()), m.raw)
		}
		for _, r := range requests {
			m := k.expectError(r[0], r[1], -32603, "")
			assert.Equal(t, m.Error.Message, errNone.Error(), r[0])
		}
		assert.Equal(t, log.String(), "")
		m := k.expectError("tools/call", `{"name":"panics"}`, -32603, "")
		assert.Equal(t, m.Error.Message, "Internal error")
		k.expectNothing()
	})
	in(t, []string{"2024-11-05", "2025-11-25", newest}, func(t *testing.T, revision string) {
		var log strings.Builder
		k := speak(t, served(server.Options{}, &log), revision, `{}`)
		for _, name := range tools {
			requests = append(requests, [2]string{"tools/call", fmt.Sprintf(`{"name":%q}`, name)})
		}
		for _, r := range requests {
			log.Reset()
			m := k.request(r[0], r[1])
			for _, part := range []string{"withheld", "the log has it", "ShowErrors"} {
				assert.Assert(t, strings.Contains(m.raw, part), m.raw)
			}
			assert.Assert(t, !strings.Contains(m.raw, "entity") &&
				!strings.Contains(m.raw, "unexpected"), m.raw)
			assert.Assert(t, strings.Contains(log.String(), errNone.Error()) &&
				strings.Contains(log.String(), "ShowErrors"), log.String())
		}
	})
}

// An interceptor may wrap the error of a tool, and the client gets it once. What it adds itself is
// an error of the application as well.
func TestShowErrorsOfInterceptors(t *testing.T) {
	for show, want := range map[bool]string{
		true: "no such city", false: "Internal error: its text is withheld"} {
		var log strings.Builder
		o := server.Options{ShowErrors: show, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Interceptors: []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
				return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
					result, err := next(ctx, i)
					if err != nil {
						err = fmt.Errorf("audited: %w", err)
					}
					return result, err
				}
			}}}
		s := o.New(server.Info{Name: "test", Version: "1.2"}, nil)
		r := resource("x:1")
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return nil, errors.New("no such city")
		}
		must(t, s.AddResource(r))
		for _, revision := range []string{"2025-11-25", newest} {
			log.Reset()
			speak(t, s, revision, `{}`).expectError("resources/read", `{"uri":"x:1"}`, -32603, want)
			assert.Equal(t, strings.Count(log.String(), "ShowErrors"), map[bool]int{false: 1}[show])
		}
	}
}

// An error with a text for the client has it in every handler, whichever package made it. For a
// tool, one of package dispatch is a result that the model reads.
func TestChosenTexts(t *testing.T) {
	var err error
	o := server.Options{Extensions: []server.Extension{{ID: "com.example/x", ServerOnly: true,
		Methods: map[string]func(context.Context, json.RawMessage) (any, error){
			"example/fail": func(context.Context, json.RawMessage) (any, error) { return nil, err },
		}}}}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "op.fail", Summary: "Fails.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(context.Context, struct{}) (string, error) { return "", err })
	var log strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := o.New(server.Info{Name: "test", Version: "1.2"}, catalog)
	server.AddTool(s, mcp.Tool{Name: "typed"},
		func(context.Context, struct{}) (string, error) { return "", err })
	must(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "raw"},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, err
		}}))
	r := resource("x:1")
	r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) { return nil, err }
	must(t, s.AddResource(r))
	p := recites("p")
	p.Get = func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
		return nil, err
	}
	p.Complete = func(context.Context, string, string, map[string]string) (mcp.Completion, error) {
		return mcp.Completion{}, err
	}
	must(t, s.AddPrompt(p))

	const (
		model  = 0 // the code of a result with isError
		hidden = 1 // that of one whose text is withheld: it may be another server's
	)
	handlers := [...]struct{ method, params string }{
		{"tools/call", `{"name":"op_fail"}`}, {"tools/call", `{"name":"typed"}`},
		{"tools/call", `{"name":"raw"}`}, {"resources/read", `{"uri":"x:1"}`},
		{"prompts/get", `{"name":"p"}`},
		{"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`},
		{"example/fail", `{}`}}
	var (
		noRPC      *rpc.Error
		noDispatch *dispatch.Error
	)
	const notFound = "What the arguments name does not exist."
	for _, c := range []struct {
		name  string
		err   error
		text  string
		codes [len(handlers)]int
	}{
		{"rpc.Errorf", rpc.Errorf(-31000, "no such disk"), "no such disk",
			[...]int{model, model, -31000, -31000, -31000, -31000, -31000}},
		{"dispatch.Errorf", dispatch.Errorf(dispatch.NotFound, "no such disk"), "no such disk",
			[...]int{model, model, model, -32002, -32602, -32602, -32602}},
		{"dispatch.InvalidInput", dispatch.Errorf(dispatch.InvalidInput, "no"), "no",
			[...]int{model, model, model, -32602, -32602, -32602, -32602}},
		{"dispatch.ShowError", dispatch.ShowError(errors.New("disk on fire")), "disk on fire",
			[...]int{model, model, model, -32603, -32603, -32603, -32603}},
		{"a code", dispatch.NotFound, notFound,
			[...]int{model, model, model, -32002, -32602, -32602, -32602}},
		{"wrapped", fmt.Errorf("reading: %w", dispatch.Errorf(dispatch.NotFound, "no such disk")),
			"no such disk", [...]int{model, model, model, -32002, -32602, -32602, -32602}},
		{"wrapped rpc", fmt.Errorf("reading: %w", rpc.Errorf(-31000, "no such disk")),
			"no such disk", [...]int{hidden, hidden, -31000, -31000, -31000, -31000, -31000}},
		{"dispatch of rpc", dispatch.Errorf(dispatch.StateError, "no such disk: %w",
			rpc.Errorf(-31000, "reading")), "no such disk",
			[...]int{hidden, model, model, -32603, -32603, -32603, -32603}},
		{"nil", noRPC, "returned a nil *rpc.Error",
			[...]int{model, model, -32603, -32603, -32603, -32603, -32603}},
		{"nil of dispatch", noDispatch, "returned a nil *dispatch.Error",
			[...]int{model, model, model, -32603, -32603, -32603, -32603}},
	} {
		for _, revision := range []string{"2024-11-05", "2025-11-25", newest} {
			t.Run(c.name+" "+revision, func(t *testing.T) {
				err = c.err
				log.Reset()
				k := speak(t, s, revision, `{}`)
				for i, h := range handlers {
					m, code := k.request(h.method, h.params), c.codes[i]
					if code == -32002 && k.modern() {
						code = -32602
					}
					switch code {
					case hidden:
						assert.Assert(t, m.Error == nil && strings.Contains(m.raw, "withheld"), m.raw)
						assert.Assert(t, !strings.Contains(m.raw, c.text), m.raw)
						assert.Assert(t, strings.Contains(log.String(), c.text), log.String())
						log.Reset()
					case model:
						assert.Assert(t, m.Error == nil && strings.Contains(m.raw, `"isError":true`),
							m.raw)
						assert.Assert(t, strings.Contains(m.raw, c.text), m.raw)
						assert.Assert(t, !strings.Contains(m.raw, "reading:"), m.raw)
					default:
						m.fails(code, c.text)
						assert.Assert(t, !strings.Contains(m.raw, "reading:"), m.raw)
					}
				}
				assert.Equal(t, log.String(), "")
			})
		}
	}
}

// The details of an error of package dispatch are the data of one of JSON-RPC.
func TestDetailsOfChosenTexts(t *testing.T) {
	s := server.New(server.Info{Name: "test", Version: "1.2"}, nil)
	r := resource("x:1")
	r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
		return nil, dispatch.Errorf(dispatch.StateError, "busy").With(map[string]int{"queue": 3})
	}
	must(t, s.AddResource(r))
	m := speak(t, s, newest, `{}`).expectError("resources/read", `{"uri":"x:1"}`, -32603, "busy")
	assert.Assert(t, strings.Contains(m.raw, `"data":{"queue":3}`), m.raw)
}
