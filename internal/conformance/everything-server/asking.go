package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func form(schema, message string) mcp.ElicitParams {
	return mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// askName elicits a name, with the key that the suite expects.
func askName(ctx context.Context) (string, error) {
	result, err := server.Elicit(ctx, "user_name", form(nameForm, "What is your name?"))
	if err != nil {
		return "", err
	}
	var answer struct {
		Name string `json:"name"`
	}
	return answer.Name, errors.Join(mcp.Unmarshal(result.Content, &answer))
}

func sample(prompt string) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: 100,
		Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.SamplingContent{&mcp.TextContent{Text: prompt}}}}}
}

// sampledText returns the text that a model returned.
func sampledText(result *mcp.CreateMessageResult) string {
	for _, block := range result.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

// elicitTool returns a tool that elicits one form.
func elicitTool(name, description, schema, message string) toolDefinition {
	return toolDefinition{name, description, "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			result, err := server.Elicit(ctx, "form", form(schema, message))
			if err != nil {
				return nil, err
			}
			return content(text("Elicitation completed: action=%s, content=%s", result.Action,
				result.Content))
		}}
}

// asking are the tools that send requests to the client.
var asking = []toolDefinition{
	{"test_sampling", "Has the client's model answer.",
		`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
		with(func(ctx context.Context, in struct {
			Prompt string `json:"prompt"`
		}) (*mcp.CallToolResult, error) {
			result, err := server.Sample(ctx, "answer", sample(in.Prompt))
			if err != nil {
				return nil, err
			}
			return content(text("LLM response: %s", sampledText(result)))
		})},
	{"test_elicitation", "Asks the user.",
		`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		with(func(ctx context.Context, in struct {
			Message string `json:"message"`
		}) (*mcp.CallToolResult, error) {
			result, err := server.Elicit(ctx, "user", form(
				`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`,
				in.Message))
			if err != nil {
				return nil, err
			}
			return content(text("User response: action=%s, content=%s", result.Action,
				result.Content))
		})},
	elicitTool("test_elicitation_sep1034_defaults", "Asks in a form with defaults.",
		`{"type":"object","properties":{`+
			`"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},`+
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
		"Please check these values"),
	elicitTool("test_elicitation_sep1330_enums", "Asks in a form with choices of all kinds.",
		`{"type":"object","properties":{`+
			`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]},`+
			`"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},`+
			`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2"]}},`+
			`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]}}}}`,
		"Please choose"),
	elicitTool("test_streaming_elicitation", "Asks the user.", nameForm, "What is your name?"),
	{"test_missing_capability", "Needs a client that can sample.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			result, err := server.Sample(ctx, "answer", sample("Say something."))
			if err != nil {
				return nil, err
			}
			return content(text("%s", sampledText(result)))
		}},

	{"test_input_required_result_elicitation", "Asks for a name.", "", greet},
	{"test_input_required_result_tampered_state", "Asks for a name.", "", greet},
	{"test_input_required_result_request_state", "Asks for a confirmation.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			_, err := server.Elicit(ctx, "confirm",
				form(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`,
					"Go on?"))
			if err != nil {
				return nil, err
			}
			return content(text("state-ok"))
		}},
	{"test_input_required_result_sampling", "Asks the model.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			result, err := server.Sample(ctx, "capital_question",
				sample("What is the capital of France?"))
			if err != nil {
				return nil, err
			}
			return content(text("%s", sampledText(result)))
		}},
	{"test_input_required_result_capabilities", "Asks what the client can answer.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			can := server.CapabilitiesFrom(ctx)
			var name string
			var result *mcp.CreateMessageResult
			var asked, sampled error
			if can.Elicitation.SupportsForm() {
				name, asked = askName(ctx)
			}
			if can.Sampling != nil {
				result, sampled = server.Sample(ctx, "capital_question",
					sample("What is the capital of France?"))
			}
			if err := errors.Join(asked, sampled); err != nil {
				return nil, err
			}
			if result != nil {
				name += sampledText(result)
			}
			return content(text("Answers: %s", name))
		}},
	{"test_input_required_result_list_roots", "Asks for the roots.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			roots, err := server.Roots(ctx, "client_roots")
			if err != nil {
				return nil, err
			}
			return content(text("%d roots", len(roots)))
		}},
	{"test_input_required_result_multiple_inputs", "Asks three things at once.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			name, asked := askName(ctx)
			result, sampled := server.Sample(ctx, "greeting", sample("Say hello."))
			roots, listed := server.Roots(ctx, "client_roots")
			if err := errors.Join(asked, sampled, listed); err != nil {
				return nil, err
			}
			return content(text("%s, %s, %d roots", sampledText(result), name, len(roots)))
		}},
	{"test_input_required_result_multi_round", "Asks two things, one after the other.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			if _, err := server.Elicit(ctx, "step1",
				form(nameForm, "Step 1: what is your name?")); err != nil {
				return nil, err
			}
			if _, err := server.Elicit(ctx, "step2",
				form(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`,
					"Step 2: which colour?")); err != nil {
				return nil, err
			}
			return content(text("Both steps are done"))
		}},
}

func greet(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	name, err := askName(ctx)
	if err != nil {
		return nil, err
	}
	return content(text("Hello, %s!", name))
}
