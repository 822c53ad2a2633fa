package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

const sure = `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`

// addTasks adds the tools whose calls become tasks.
func addTasks(s *server.Server) error {
	var errs []error
	for _, t := range []struct {
		toolDefinition
		support mcp.TaskSupport
		later   bool
	}{
		{toolDefinition{"greet", "Greets.", nameForm, with(func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (*mcp.CallToolResult, error) {
			return content(text("Hello, %s!", in.Name))
		})}, "", false},
		{toolDefinition{"slow_compute", "Takes its time.",
			`{"type":"object","properties":{"seconds":{"type":"number","default":1},"label":{"type":"string"}}}`,
			with(func(ctx context.Context, in struct {
				Seconds float64 `json:"seconds"`
				Label   string  `json:"label"`
			}) (*mcp.CallToolResult, error) {
				if err := pause(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
					return nil, err
				}
				return content(text("%s: done after %g s", in.Label, in.Seconds))
			})}, mcp.TaskOptional, false},
		{toolDefinition{"failing_job", "Fails after a while.", "",
			func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if err := pause(ctx, time.Second); err != nil {
					return nil, err
				}
				result, err := content(text("The job has failed"))
				result.IsError = true
				return result, err
			}}, mcp.TaskRequired, false},
		{toolDefinition{"protocol_error_job", "Breaks after a while.", "",
			func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if err := pause(ctx, 500*time.Millisecond); err != nil {
					return nil, err
				}
				return nil, rpc.Errorf(rpc.CodeInternalError, "The job broke")
			}}, mcp.TaskOptional, false},
		{toolDefinition{"confirm_delete", "Asks before it goes on.",
			`{"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]}`,
			with(func(ctx context.Context, in struct {
				Filename string `json:"filename"`
			}) (*mcp.CallToolResult, error) {
				result, err := server.Elicit(ctx, "confirm", form(sure, "Delete "+in.Filename+"?"))
				if err != nil {
					return nil, err
				}
				return content(text("%s: %s", in.Filename, result.Action))
			})}, mcp.TaskOptional, false},
		{toolDefinition{"multi_input", "Asks two things at once.", "",
			func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				var group sync.WaitGroup
				var name, colour *mcp.ElicitResult
				var first, second error
				group.Go(func() {
					name, first = server.Elicit(ctx, "name", form(nameForm, "What is your name?"))
				})
				group.Go(func() {
					colour, second = server.Elicit(ctx, "colour",
						form(`{"type":"object","properties":{"colour":{"type":"string"}}}`,
							"Which colour?"))
				})
				group.Wait()
				if err := errors.Join(first, second); err != nil {
					return nil, err
				}
				return content(text("%s %s", name.Content, colour.Content))
			}}, mcp.TaskOptional, false},
		{toolDefinition{"test_tool_with_task", "Asks first, and then takes its time.", "",
			func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				name, err := askName(ctx)
				if err != nil {
					return nil, err
				}
				if err := server.BecomeTask(ctx); err != nil {
					return nil, err
				}
				if err := pause(ctx, 300*time.Millisecond); err != nil {
					return nil, err
				}
				return content(text("Hello, %s!", name))
			}}, mcp.TaskOptional, true},
	} {
		made := server.RawTool{Tool: mcp.Tool{Name: t.name, Description: t.description},
			Call: t.call, Tasks: t.support, TaskLater: t.later}
		if t.input != "" {
			made.InputSchema = json.RawMessage(t.input)
		}
		errs = append(errs, s.AddRawTool(made))
	}
	return errors.Join(errs...)
}

// reconnection closes the connection of its call and continues.
var reconnection = []toolDefinition{
	{"test_reconnection", "Has the client connect again for the result.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			streamable.CloseStream(ctx, 100*time.Millisecond)
			if err := pause(ctx, 200*time.Millisecond); err != nil {
				return nil, err
			}
			return content(text("Reconnection test completed successfully"))
		}},
}
