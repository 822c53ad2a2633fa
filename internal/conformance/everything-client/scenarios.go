package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A scenario is a set of options of a client, and what the client does with a server.
type scenario struct {
	options client.Options
	run     func(ctx context.Context, c *client.Client) error
	// the suite names a revision of another era than its server speaks
	otherEra bool
}

// scenarios are those of the suite, by name.
var scenarios = map[string]scenario{
	"initialize":               {run: list},
	"json-schema-ref-no-deref": {run: list},
	"request-metadata":         {options: able, run: list},
	"tools_call": {
		run: calls(call{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)})},
	"sse-retry": {run: calls(call{Name: "test_reconnection"})},
	"elicitation-sep1034-client-defaults": {options: accepting(`{}`),
		run: calls(call{Name: "test_client_elicitation_defaults"})},
	"sep-2322-client-request-state": {options: accepting(`{"confirmed":true}`), run: calls(
		call{Name: "test_mrtr_echo_state"}, call{Name: "test_mrtr_no_state"},
		call{Name: "test_mrtr_unrelated"}, call{Name: "test_mrtr_no_result_type"},
	)},
	"http-standard-headers":            {run: everything},
	"http-custom-headers":              {run: asTold},
	"http-invalid-tool-headers":        {run: everyTool},
	"json-schema-2020-12-preservation": {run: echoSchema},

	"sep-2640-client-no-prefetch":        {run: listSkills, otherEra: true},
	"sep-2640-client-verify-digest":      {run: refuseSkill, otherEra: true},
	"sep-2640-client-verify-size":        {run: refuseSkill, otherEra: true},
	"sep-2640-client-verify-frontmatter": {run: refuseSkill, otherEra: true},
}

// accepting returns the options of a client that accepts every form with this content.
func accepting(content string) client.Options {
	return client.Options{
		OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(content)},
				nil
		}}
}

// able are the options of a client with all capabilities.
var able = client.Options{
	OnElicit:    accepting(`{}`).OnElicit,
	ElicitModes: []string{mcp.ElicitForm, mcp.ElicitURL},
	OnSample: func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, errors.New("there is no model")
	},
	SampleTools: true,
	Roots:       []mcp.Root{},
}

// A call is a call of a tool.
type call struct {
	Name      string
	Arguments json.RawMessage
}

func (want call) do(ctx context.Context, c *client.Client) error {
	var arguments any
	if want.Arguments != nil {
		arguments = want.Arguments
	}
	result, err := c.CallTool(ctx, want.Name, arguments)
	if err == nil && (result.IsError || len(result.Content) == 0) {
		err = fmt.Errorf("%s: failed: %v", want.Name, result.Content)
	}
	return err
}

// calls returns a function that calls these tools, which must be listed.
func calls(wanted ...call) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		tools, err := listTools(ctx, c)
		for _, want := range wanted {
			if err == nil && tools[want.Name] == nil {
				err = fmt.Errorf("the server does not list the tool %s", want.Name)
			}
			if err == nil {
				err = want.do(ctx, c)
			}
		}
		return err
	}
}

func listTools(ctx context.Context, c *client.Client) (map[string]*mcp.Tool, error) {
	tools := make(map[string]*mcp.Tool)
	return tools, each(c.Tools(ctx), func(t *mcp.Tool) error { tools[t.Name] = t; return nil })
}

// each calls do for each element of a list.
func each[T any](all iter.Seq2[T, error], do func(T) error) error {
	for one, err := range all {
		if err == nil {
			err = do(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func list(ctx context.Context, c *client.Client) error {
	_, err := listTools(ctx, c)
	return err
}

// everyTool calls all listed tools with the argument region.
func everyTool(ctx context.Context, c *client.Client) error {
	return each(c.Tools(ctx), func(t *mcp.Tool) error {
		return call{t.Name, json.RawMessage(`{"region":"us-east1"}`)}.do(ctx, c)
	})
}

// everything calls all tools, reads all resources and gets all prompts.
func everything(ctx context.Context, c *client.Client) error {
	return errors.Join(
		everyTool(ctx, c),
		each(c.Resources(ctx), func(r *mcp.Resource) error {
			_, err := c.ReadResource(ctx, r.URI)
			return err
		}),
		each(c.Prompts(ctx), func(p *mcp.Prompt) error {
			_, err := c.GetPrompt(ctx, p.Name, nil)
			return err
		}),
	)
}

// asTold makes the calls in the context of the suite.
func asTold(ctx context.Context, c *client.Client) error {
	var told struct{ ToolCalls []call }
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if len(told.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT has no toolCalls")
	}
	return calls(told.ToolCalls...)(ctx, c)
}

// echoSchema returns the schema of a tool to the server, as received.
func echoSchema(ctx context.Context, c *client.Client) error {
	tools, err := listTools(ctx, c)
	if err != nil {
		return err
	}
	tool := tools["json_schema_2020_12_tool"]
	if tool == nil {
		return errors.New("the server does not list the tool json_schema_2020_12_tool")
	}
	arguments, err := json.Marshal(map[string]any{"schema": tool.InputSchema})
	if err != nil {
		return err
	}
	return calls(call{"json_schema_echo", arguments})(ctx, c)
}
