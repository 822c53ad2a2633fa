package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A RawTool is a tool whose function reads and writes JSON. Use it if the schemas are known only at
// run time, or for a tool of another server. [AddTool] adds a tool with Go types.
type RawTool struct {
	// A nil InputSchema accepts any object. With an OutputSchema, each result without IsError must
	// have structured content that fits it.
	mcp.Tool

	// Call returns the result. The arguments fit the input schema, with its defaults filled in, and
	// are valid until Call returns. The error follows the rules of [Resource].Read; a failure that
	// the model should see belongs in a result with IsError. A panic is logged, and the call is
	// answered with the error -32603 "Internal error". The result is not modified, so many calls
	// may share it. Content that the client's revision does not support, such as audio, resource
	// links and structured content, is replaced by text or left out. Call must be safe for
	// concurrent use.
	Call func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

	// Tasks says whether calls run as tasks: never (""), if the client wants it, or always. Clients
	// of 2025-11-25 get it in place of the tool's Execution. See [TaskOptions].
	Tasks mcp.TaskSupport

	// TaskLater makes a call a task only when Call calls [BecomeTask], so that Call can first ask
	// the client, or find out whether a task is necessary. It has no effect for a client of
	// 2025-11-25, which asks for the task itself.
	TaskLater bool

	// Forward replaces Call for a tool of another server, which validates input and output itself.
	// Its arguments are those of the request, and its result, a JSON object, is sent unchanged,
	// with two exceptions: in the modern era a missing resultType is added; in the legacy era
	// structured content that is not an object is left out, because the era does not allow it.
	// Errors and panics are handled as those of Call. Such a tool may have any name, because the
	// other server has chosen it.
	Forward func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

	// Definition, if set, is the tool in lists: a JSON object in place of the fields of mcp.Tool.
	// It is sent byte by byte except for line breaks. For clients of the legacy era, an
	// OutputSchema that does not describe an object is left out, and a tool whose InputSchema does
	// not describe an object is not listed.
	Definition json.RawMessage

	// NeedsSession leaves the tool out of lists for requests without a session, such as those of
	// modern clients over HTTP (see [Integration.Stateless]). Such clients can still call the tool,
	// so the function must refuse the call.
	NeedsSession bool

	// Extension is the ID of the extension of [Options] that the tool belongs to, or "". The tool
	// exists only for clients with which the extension was negotiated.
	Extension string

	typed *typedTool // in place of Call and Forward, see NewTool
}

// AddRawTool adds a tool. It replaces a tool with the same name that AddRawTool or [AddTool] has
// added; an operation of the catalog with that name takes precedence. It fails if the name, a
// schema or the combination of fields is invalid.
func (s *Server) AddRawTool(t RawTool) error {
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if jsonscan.Valid(t.InputSchema) == nil { // else encodeDefinition fails
		t.InputSchema = schema.WithProperties(t.InputSchema)
	}
	t.Execution = nil
	made := &tool{raw: &t, tasks: t.Tasks}
	err := error(nil)
	switch {
	case t.Forward == nil && !mcp.ValidToolName(t.Name):
		err = errors.New("a name is 1 to 128 letters, digits, '_', '-' and '.'")
	case t.Name == "":
		err = errors.New("it needs a name")
	case t.typed == nil && (t.Call == nil) == (t.Forward == nil) ||
		t.typed != nil && (t.Call != nil || t.Forward != nil):
		err = errors.New("it needs Call or Forward, or one of NewTool")
	case !isTask(t.Tasks) && (t.Tasks != "" && t.Tasks != mcp.TaskForbidden || t.TaskLater):
		err = errors.New(
			"Tasks is forbidden, optional or required, and one of the latter two with TaskLater")
	case t.typed != nil:
		_, err = mcp.HeaderParams(t.InputSchema)
	case t.Forward == nil:
		made.input, err = schema.Compile(t.InputSchema)
		if err == nil && t.OutputSchema != nil {
			made.output, err = schema.Compile(t.OutputSchema)
		}
		if err == nil {
			_, err = mcp.HeaderParams(t.InputSchema)
		}
		if err == nil && string(jsonscan.Member(t.InputSchema, "type")) != `"object"` {
			err = errors.New(`its input schema must say "type":"object"`)
		}
	}
	definition, encodeErr := encodeDefinition(t.Definition, t.Tool)
	if err = errors.Join(err, encodeErr); err != nil {
		return fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	if isTask(t.Tasks) {
		s.tasks.enabled.Store(true)
	}
	if s.addedTools.add(toolItem(t.Name, made, definition)); made.legacy == nil {
		s.log.Warn("a tool is not listed for clients of revisions before 2026-07-28, which would refuse the whole list: its inputSchema is not that of an object",
			"tool", t.Name)
	}
	s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged})
	return nil
}

// RemoveTools removes the tools with these names that AddRawTool or AddTool has added, and returns
// their number.
func (s *Server) RemoveTools(names ...string) int {
	removed := s.addedTools.remove(names...)
	if removed > 0 {
		s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged})
	}
	return removed
}

// runAddedTool runs a tool that AddRawTool or AddTool has added.
func (r *request) runAddedTool(ctx context.Context, t *tool,
	arguments json.RawMessage) (*Result, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if t.raw.Forward != nil {
		return r.runForwarded(ctx, t, arguments)
	}
	validate := t.input.ValidateAndFill
	if r.conn.server.o.Dispatch.Lenient {
		validate = t.input.ValidateLeniently
	}
	arguments, err := validate(arguments)
	if err != nil {
		return r.toolError("Invalid arguments: " + err.Error())
	}
	result, err := t.raw.Call(ctx, arguments)
	if err != nil {
		return r.handlerError(err)
	}
	if t.output != nil && result != nil && !result.IsError {
		if err := t.output.Validate(result.StructuredContent); err != nil {
			return nil, r.logError(
				fmt.Errorf("the result breaks the output schema of the tool %s: %w", t.raw.Name,
					err))
		}
	}
	return r.rawToolResult(result)
}

// runForwarded runs a tool whose Forward is set.
func (r *request) runForwarded(ctx context.Context, t *tool,
	arguments json.RawMessage) (*Result, error) {
	result, err := t.raw.Forward(ctx, arguments)
	if err != nil {
		return r.handlerError(err)
	}
	if !isObject(result) || jsonscan.Valid(result) != nil {
		return nil, r.logError(
			fmt.Errorf("the result of the tool %s is not a JSON object", t.raw.Name))
	}
	if !r.era.modern {
		return NewResult(legacyResult(result)), nil
	}
	made := &Result{json: result, checked: true}
	typed, separator := false, ""
	for name, value := range jsonscan.Members(result) {
		separator = ","
		switch {
		case jsonscan.KeyIs(name, "resultType"):
			typed = true
		case jsonscan.KeyIs(name, "isError"):
			made.isError = string(value) == "true"
		}
	}
	if !typed {
		open := bytes.IndexByte(result, '{') + 1
		made.json = append(append(make([]byte, 0, len(result)+32), result[:open]...),
			`"resultType":"complete"`...)
		made.json = append(append(made.json, separator...), result[open:]...)
	}
	return made, nil
}

// toolError returns a result with IsError for invalid arguments, which the model can correct
// (2026-07-28, server/tools, Error Handling).
func (r *request) toolError(message string) (*Result, error) {
	return r.rawToolResult(
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true})
}

// rawToolResult returns a tool's result in the form of the client's era.
func (r *request) rawToolResult(result *mcp.CallToolResult) (*Result, error) {
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return a shared result
	if own.Content == nil && own.StructuredContent != nil {
		own.Content = []mcp.Content{&mcp.TextContent{Text: string(own.StructuredContent)}}
	}
	own.Content = slices.Clone(own.Content)
	for i, block := range own.Content {
		own.Content[i] = r.era.content(block)
	}
	if !r.era.allowsStructured(own.StructuredContent) {
		own.StructuredContent = nil
	}
	return r.encodeResult(&own, &own.Result)
}
