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
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

type sum struct {
	Sum float64 `json:"sum"`
}

type addends struct {
	A float64 `json:"a"`
	B float64 `json:"b" default:"1"`
}

func add(_ context.Context, in addends) (sum, error) { return sum{in.A + in.B}, nil }

// Each form of a typed tool's result in each era.
func TestTypedToolResults(t *testing.T) {
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "struct"}, add)
	server.AddTool(s, mcp.Tool{Name: "number"},
		func(_ context.Context, in addends) (float64, error) { return in.A + in.B, nil })
	server.AddTool(s, mcp.Tool{Name: "raw"},
		func(context.Context, struct{}) (json.RawMessage, error) {
			return json.RawMessage(`{"n":1}`), nil
		})
	server.AddTool(s, mcp.Tool{Name: "text"},
		func(context.Context, struct{}) (string, error) { return "a \"b\"\n", nil })
	server.AddTool(s, mcp.Tool{Name: "nothing"},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	server.AddTool(s, mcp.Tool{Name: "content"},
		func(context.Context, struct{}) ([]mcp.Content, error) {
			return []mcp.Content{mcp.Text("see"), mcp.Audio([]byte("la"), "audio/wav")}, nil
		})
	server.AddTool(s, mcp.Tool{Name: "result"},
		func(context.Context, struct{}) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`[1]`), IsError: true}, nil
		})
	server.AddTool(s, mcp.Tool{Name: "meta"},
		func(context.Context, struct{}) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Result: mcp.Result{Meta: mcp.Meta{"a/b": json.RawMessage(`1`)}}},
				nil
		})
	const structured = `,"structuredContent":`
	revisions := []string{newest, "2025-06-18", "2024-11-05"}
	for _, c := range []struct {
		tool, arguments string
		want            [3]string // for each of the revisions
	}{
		{"struct", `{"a":2}`, [3]string{textBlock("{\"sum\":3}") + structured + `{"sum":3}`,
			textBlock("{\"sum\":3}") + structured + `{"sum":3}`, textBlock("{\"sum\":3}")}},
		{"number", `{"a":2,"b":2}`, [3]string{textBlock("4") + structured + `4`, textBlock("4"), textBlock("4")}},
		{"raw", `{}`, [3]string{textBlock("{\"n\":1}") + structured + `{"n":1}`,
			textBlock("{\"n\":1}") + structured + `{"n":1}`, textBlock("{\"n\":1}")}},
		{"text", `{}`, [3]string{textBlock("a \"b\"\n"), textBlock("a \"b\"\n"), textBlock("a \"b\"\n")}},
		{"nothing", `{}`, [3]string{`"content":[]`, `"content":[]`, `"content":[]`}},
		{"content", `{}`, [3]string{see + audio, see + audio,
			see + `{"type":"text","text":"[sound, audio/wav, 2 bytes]"}]`}},
		{"result", `{}`, [3]string{textBlock("[1]") + structured + `[1],"isError":true`,
			textBlock("[1]") + `,"isError":true`, textBlock("[1]") + `,"isError":true`}},
		{"meta", `{}`, [3]string{meta, meta, meta}},
		{"struct", `{"a":"x"}`, [3]string{wrong, wrong, wrong}},
	} {
		for i, revision := range revisions {
			speak(t, s, revision, `{}`).want("tools/call",
				fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.tool, c.arguments), "{"+c.want[i]+"}")
		}
	}
}

const (
	see   = `"content":[{"type":"text","text":"see"},`
	audio = `{"type":"audio","data":"bGE=","mimeType":"audio/wav"}]`
	meta  = `"_meta":{"a/b":1},"content":[]`
	wrong = `"content":[{"type":"text","text":"invalid arguments: a must be a number, not \"x\""}],"isError":true`
)

// textBlock returns the content of a result with one text.
func textBlock(s string) string { return strings.TrimSuffix(strings.TrimPrefix(quoted(s), "{"), "}") }

func TestTypedToolDefinition(t *testing.T) {
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "add", Description: "Adds.",
		Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskOptional}}, add)
	server.AddTool(s, mcp.Tool{Name: "say"},
		func(context.Context, struct{}) (string, error) { return "", nil })
	tools := speak(t, s, newest, `{}`).request("tools/list", `{}`).raw
	for _, want := range []string{
		`{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number","default":1}},"required":["a"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}}`,
		`{"name":"say","inputSchema":{"type":"object","additionalProperties":false,"properties":{}}}`,
	} {
		assert.Assert(t, cmp.Contains(tools, want))
	}
	assert.Assert(t, cmp.Contains(speak(t, s, "2025-11-25", `{}`).request("tools/list", `{}`).raw,
		`"execution":{"taskSupport":"optional"}`))
}

type aged struct {
	N int `jsonschema:"minimum=1"`
}

// Descriptions in the tags of other packages are in the list of tools.
func TestTypedToolOfForeignTags(t *testing.T) {
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "say"}, func(context.Context, struct {
		A string `json:"a" jsonschema:"What to say."`
	}) (string, error) {
		return "", nil
	})
	in(t, []string{"2024-11-05", newest}, func(t *testing.T, revision string) {
		assert.Assert(t, cmp.Contains(speak(t, s, revision, `{}`).request("tools/list", `{}`).raw,
			`"properties":{"a":{"type":"string","description":"What to say."}}`))
	})
}

func TestTypedToolMistakes(t *testing.T) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "a.b", Summary: "A.", Type: dispatch.Read}, add)
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, catalog)
	say := func(context.Context, struct{}) (string, error) { return "", nil }
	server.AddTool(s, mcp.Tool{Name: "say"}, say)
	for want, declare := range map[string]func(){
		`server: tool "say": the name is taken`: func() {
			server.AddTool(s, mcp.Tool{Name: "say"}, say)
		},
		`server: tool "a_b": the name is taken`: func() {
			server.AddTool(s, mcp.Tool{Name: "a_b"}, say)
		},
		`server: tool "": `: func() { server.AddTool(s, mcp.Tool{}, say) },
		`server: tool "x": a result of type string has no structured content`: func() {
			server.AddTool(s, mcp.Tool{Name: "x", OutputSchema: json.RawMessage(`{}`)}, say)
		},
		`server: tool "z": dispatch: operation "z": input schema: schema: server_test.aged.N: tag jsonschema:"minimum=1": write the tag min:"1"`: func() {
			server.AddTool(s, mcp.Tool{Name: "z"},
				func(context.Context, aged) (string, error) { return "", nil })
		},
		`server: tool "greet (structured)": a name is 1 to 128 letters, digits, '_', '-' and '.', without spaces`: func() {
			server.AddTool(s, mcp.Tool{Name: "greet (structured)"}, say)
		},
		`server: tool "y": the function is nil`: func() {
			server.AddTool[struct{}, string](s, mcp.Tool{Name: "y"}, nil)
		},
	} {
		func() {
			defer func() {
				assert.Check(t, cmp.Contains(fmt.Sprint(recover()), want))
			}()
			declare()
		}()
	}
}

// The texts of errors that the model gets.
func TestTypedToolErrors(t *testing.T) {
	errSecret := errors.New("password is hunter2")
	failing := func(o server.Options, log *strings.Builder) *server.Server {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		s := o.New(server.Info{Name: "test", Version: "1.2"}, nil)
		server.AddTool(s, mcp.Tool{Name: "fail"},
			func(_ context.Context, in struct{ How string }) (string, error) {
				switch in.How {
				case "code":
					return "", fmt.Errorf("wrapped: %w", dispatch.Errorf(dispatch.NotFound, "no issue 7"))
				case "bare":
					return "", dispatch.NotFound
				case "shown":
					return "", dispatch.ShowError(errSecret)
				case "panic":
					panic(errSecret)
				}
				return "", errSecret
			})
		return s
	}
	const (
		internal = "the operation failed unexpectedly; the log has the cause"
		withheld = "the operation failed; the text of its error is withheld: the log has it, and ShowErrors shows it"
	)
	for _, c := range []struct {
		how       string
		translate func(error) error
		want      string
		logged    bool
	}{
		{"code", nil, "no issue 7", false},
		{"bare", nil, "What the arguments name does not exist.", false},
		{"shown", nil, errSecret.Error(), false},
		{"plain", nil, withheld, true},
		{"panic", nil, internal, true},
		{"plain", dispatch.ShowError, errSecret.Error(), false},
		{"panic", dispatch.ShowError, internal, true},
		{"plain", func(err error) error {
			if errors.Is(err, errSecret) {
				return dispatch.Errorf(dispatch.PermissionDenied, "no")
			}
			return err
		}, "no", false},
		{"plain", func(error) error { return nil }, withheld, true},
	} {
		var log strings.Builder
		s := failing(server.Options{Dispatch: dispatch.Options{Translate: c.translate}}, &log)
		for _, revision := range []string{newest, "2024-11-05"} {
			speak(t, s, revision, `{}`).want("tools/call",
				fmt.Sprintf(`{"name":"fail","arguments":{"How":%q}}`, c.how),
				"{"+textBlock(c.want)+`,"isError":true}`)
		}
		assert.Equal(t, strings.Contains(log.String(), "hunter2"), c.logged, "%s: %s", c.how, &log)
	}
}

// A typed tool asks questions, reports progress and is intercepted as an operation is.
func TestTypedToolIsIntercepted(t *testing.T) {
	var seen []string
	o := quiet
	o.Dispatch.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			result, err := next(ctx, i)
			seen = append(seen, fmt.Sprintf("%s %s %s", i.Name, i.Arguments,
				result.(dispatch.Envelope).Data))
			return result, err
		}
	}}
	s := made(o)
	server.AddTool(s, mcp.Tool{Name: "remove"},
		func(ctx context.Context, in struct{ Name string }) (string, error) {
			if err := dispatch.Confirm(ctx, "Remove %s?", in.Name); err != nil {
				return "", err
			}
			return "removed", nil
		})
	k := speak(t, s, "2025-11-25", `{"elicitation":{}}`)
	k.start("tools/call", `{"name":"remove","arguments":{"Name":"x"}}`)
	question := k.next()
	assert.Assert(t, cmp.Contains(question.raw, "Remove x?"))
	k.reply(question, `{"action":"accept","content":{}}`)
	assert.Assert(t, cmp.Contains(k.next().raw, textBlock("removed")))
	assert.Equal(t, seen[len(seen)-1], `remove {"Name":"x"} "removed"`)
}

// The text of an operation replaces the JSON of its envelope if the client gets the envelope as
// structured content.
func TestOperationText(t *testing.T) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "add", Summary: "Adds.", Type: dispatch.Read,
		Text: func(s sum) string { return fmt.Sprintf("It is %g.", s.Sum) }}, add)
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, catalog)
	const envelope = `{"success":true,"data":{"sum":2},"error":null}`
	for revision, want := range map[string]string{
		newest:       `{"structuredContent":` + envelope + "," + textBlock("It is 2.") + `,"isError":false}`,
		"2025-06-18": `{"structuredContent":` + envelope + "," + textBlock("It is 2.") + `,"isError":false}`,
		"2024-11-05": `{` + textBlock(envelope) + `,"isError":false}`,
	} {
		speak(t, s, revision, `{}`).want("tools/call", `{"name":"add","arguments":{"a":1}}`, want)
	}
	_, err := dispatch.NewOperation(
		dispatch.Spec{Name: "add", Summary: "Adds.", Type: dispatch.Read,
			Text: func(s *sum) string { return "" }}, add)
	assert.Error(t, err, `dispatch: operation "add": Text is a func(*server_test.sum) string and must be a func(server_test.sum) string`)
}
