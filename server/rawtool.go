package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

	typed *operationTool // in place of Call and Forward, see NewTool; its name is not set
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
	made, use, err := s.toolOf(&t)
	definition, encodeErr := encodeDefinition(t.Definition, t.Tool)
	if err = errors.Join(err, encodeErr); err != nil {
		return fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	if isTask(t.Tasks) {
		s.tasks.enabled.Store(true)
	}
	i := toolItem(t.Name, made, definition)
	i.use, i.sessionOnly, i.extension = use, t.NeedsSession, t.Extension
	if s.add(i); i.legacy == nil {
		s.log.Warn("a tool is not listed for clients of revisions before 2026-07-28, which would refuse the whole list: its inputSchema is not that of an object",
			"tool", t.Name)
	}
	return nil
}

// RemoveTools removes the tools with these names that AddRawTool or AddTool has added, and returns
// their number.
func (s *Server) RemoveTools(names ...string) int { return s.remove(mcp.KindTool, names) }

// toolOf checks a raw tool and returns it as calls use it.
func (s *Server) toolOf(t *RawTool) (made *tool, use useFunc, err error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	made = &tool{tasks: t.Tasks, taskLater: t.TaskLater, forwarded: t.Forward != nil}
	switch {
	case made.forwarded:
		return made, forwardedCall(t.Name, t.Forward), nil
	case t.typed != nil:
		use = operationTool{t.Name, t.typed.op, t.typed.form}.use
	default:
		if use, err = s.validatedCall(t); err != nil {
			return nil, nil, err
		}
	}
	if _, err := mcp.HeaderParams(t.InputSchema); err != nil {
		return nil, nil, err
	}
	if t.typed == nil && string(jsonscan.Member(t.InputSchema, "type")) != `"object"` {
		return nil, nil, errors.New(`its input schema must say "type":"object"`)
	}
	return made, use, nil
}

// check returns an error if the name or the combination of fields is invalid.
func (t *RawTool) check() error {
	switch {
	case t.Forward == nil && !mcp.ValidToolName(t.Name):
		return errors.New("a name is 1 to 128 letters, digits, '_', '-' and '.'")
	case t.Name == "":
		return errors.New("it needs a name")
	case t.typed == nil && (t.Call == nil) == (t.Forward == nil) ||
		t.typed != nil && (t.Call != nil || t.Forward != nil):
		return errors.New("it needs Call or Forward, or one of NewTool")
	case !isTask(t.Tasks) && (t.Tasks != "" && t.Tasks != mcp.TaskForbidden || t.TaskLater):
		return errors.New(
			"Tasks is forbidden, optional or required, and one of the latter two with TaskLater")
	}
	return nil
}
