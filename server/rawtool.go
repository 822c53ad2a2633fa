package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
)

// A RawTool is a tool whose function reads and writes JSON. Use it if the schemas are known only at
// run time. [AddTool] adds a tool with Go types.
type RawTool struct {
	// A nil InputSchema accepts any object. With an OutputSchema, each result without IsError must
	// have structured content that fits it.
	mcp.Tool

	// Call returns the result. The arguments fit the input schema, with its defaults filled in, and
	// are valid until Call returns. The error follows the rules of [Resource].Read, except that a
	// failure which the model should see is a result with IsError: so is a [*dispatch.Error], and
	// with [Options].ShowErrors every error but an [*rpc.Error]. A panic is logged, and the call is
	// answered with the error -32603 "Internal error". The result is not modified, so many calls
	// may share it. Content that the client's
	// revision does not support, such as audio, resource links and structured content, is replaced
	// by text or left out. Call must be safe for concurrent use.
	Call func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

	// Tasks says whether calls run as tasks: never (""), if the client wants it, or always. Clients
	// of 2025-11-25 get it in place of the tool's Execution. See [TaskOptions].
	Tasks mcp.TaskSupport

	// TaskLater makes a call a task only when Call calls [BecomeTask], so that Call can first ask
	// the client, or find out whether a task is necessary. It has no effect for a client of
	// 2025-11-25, which asks for the task itself.
	TaskLater bool

	// Extension is the ID of the extension of [Options] that the tool belongs to, or "". The tool
	// exists only for clients with which the extension was negotiated.
	Extension string

	typed *operationTool // in place of Call, see NewTool; its name is not set
}

// errToolName is the error for the name of a tool that the application chose.
var errToolName = errors.New("a name is 1 to 128 letters, digits, '_', '-' and '.', " +
	"without spaces, commas or other special characters (2026-07-28, server/tools, Tool Names); " +
	"the Title may have any text")

// AddRawTool adds a tool. It replaces a tool with the same name that AddRawTool or [AddTool] has
// added; an operation of the catalog with that name takes precedence. It fails if the name, a
// schema or the combination of fields is invalid.
func (s *Server) AddRawTool(t RawTool) error {
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if jsonscan.Valid(t.InputSchema) == nil { // else mcp.Marshal fails
		t.InputSchema = schema.WithProperties(t.InputSchema)
	}
	t.Execution = nil
	use, err := s.useOf(&t)
	definition, encodeErr := mcp.Marshal(t.Tool)
	if err = errors.Join(err, encodeErr); err != nil {
		return itemError(mcp.KindTool, t.Name, err)
	}
	if items.IsTask(t.Tasks) {
		s.tasks.enabled.Store(true)
	}
	i := toolItem(t.Name, &tool{taskLater: t.TaskLater}, t.Tasks, definition)
	i.use, i.Extension = use, t.Extension
	s.add(i)
	return nil
}

// useOf checks a raw tool and returns the function that calls it.
func (s *Server) useOf(t *RawTool) (use useFunc, err error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.typed != nil {
		use = operationTool{t.Name, t.typed.op, t.typed.form}.use
	} else if use, err = s.validatedCall(t); err != nil {
		return nil, err
	}
	if _, err := paramheader.Of(t.InputSchema); err != nil {
		return nil, err
	}
	if t.typed == nil && string(jsonscan.Member(t.InputSchema, "type")) != `"object"` {
		return nil, errors.New(`its input schema must say "type":"object"`)
	}
	return use, nil
}

// check returns an error if the name or the combination of fields is invalid.
func (t *RawTool) check() error {
	switch {
	case !itemname.IsToolName(t.Name):
		return errToolName
	case (t.Call == nil) == (t.typed == nil):
		return errors.New("it needs Call, unless it is one of NewTool")
	case !items.IsTask(t.Tasks) && (t.Tasks != "" && t.Tasks != mcp.TaskForbidden || t.TaskLater):
		return errors.New(
			"Tasks is forbidden, optional or required, and one of the latter two with TaskLater")
	}
	return nil
}

// validatedCall returns the function of a tool with Call.
func (s *Server) validatedCall(t *RawTool) (useFunc, error) {
	input, err := schema.Compile(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var output *schema.Schema
	if t.OutputSchema != nil {
		if output, err = schema.Compile(t.OutputSchema); err != nil {
			return nil, err
		}
	}
	name, call := t.Name, t.Call
	return func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		arguments, repairs, err := input.ValidateAndFill(orEmptyObject(arguments),
			s.o.Dispatch.Lenient)
		if repairs != nil {
			s.log.Debug("the arguments of a call were repaired", "tool", name, "repairs", repairs)
		}
		if err != nil {
			return r.toolError("Invalid arguments: " + err.Error())
		}
		result, err := call(ctx, arguments)
		if err != nil {
			return r.handlerError(err)
		}
		if output != nil && result != nil && !result.IsError {
			if err := output.Validate(result.StructuredContent); err != nil {
				return nil, r.logError(fmt.Errorf(
					"the result breaks the output schema of the tool %s: %w", name, err))
			}
		}
		return r.rawToolResult(result)
	}, nil
}
