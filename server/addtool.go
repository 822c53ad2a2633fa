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

// A Tool is a tool in MCP's own terms, for what an operation of the catalog cannot be: one whose result has images, sound or resources in it, or is another
// server's. It is for this surface alone.
type Tool struct {
	mcp.Tool // InputSchema nil: any object. With an OutputSchema, a result that is no error has to have structured content that fits it

	// Call returns the result. The arguments fit the input schema, with its defaults filled in, and live as long as the call. The error is as that of
	// [Resource].Read; what the model is to know of a failure belongs into a result with IsError. The result is not changed, and may be the same for many
	// calls. What the client's revision does not have is left out or stands as text: sound, links, structured content. It may be called by any number of
	// goroutines at a time.
	Call func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

	// Tasks says whether calls are tasks: never (""), if the client can have it so, or always. It is told to clients of 2025-11-25 in place of
	// the tool's Execution. See [TaskOptions].
	Tasks mcp.TaskSupport

	// TaskLater has a call become a task only when Call says so with [BecomeTask], which is for what has to be asked, or found out, before it is known whether there
	// will be one. To a client of 2025-11-25, which itself asks for the task, it makes no difference.
	TaskLater bool

	// Forward is in place of Call for a tool of another server, which checks what goes in and out
	// itself: the arguments are those that came, and the result, a JSON object, is what the client
	// gets, but for a resultType if that is missing and the client's era wants one, and structured
	// content that is no object, which the legacy era does not have. The error is as that of Call.
	// Such a tool may have any name, as it is the other server's.
	Forward func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

	// Definition, if set, is what lists have of the tool in place of the fields of mcp.Tool, byte
	// for byte but for line breaks: a JSON object, for what another server has said. To clients of
	// the legacy era it, like any tool, is listed without an OutputSchema that their revision does
	// not have, which is any but that of an object; and not at all if its InputSchema is none of an
	// object.
	Definition json.RawMessage

	// NeedsSession leaves the tool out of lists for requests that come without a session, as those
	// of modern clients over HTTP (see [Server.Stateless]). They can still be made: it is up to the
	// function to refuse them, and to say why.
	NeedsSession bool
}

// AddTool offers a tool, in place of one with the same name that was added this way. An operation of the catalog with that name goes first.
func (s *Server) AddTool(t Tool) error {
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	t.Execution = nil
	made := &tool{raw: &t, tasks: t.Tasks}
	err := error(nil)
	switch {
	case t.Forward == nil && !mcp.ValidToolName(t.Name):
		err = errors.New("a name is 1 to 128 letters, digits, '_', '-' and '.'")
	case t.Name == "":
		err = errors.New("it needs a name")
	case (t.Call == nil) == (t.Forward == nil):
		err = errors.New("it needs Call or Forward")
	case !isTask(t.Tasks) && (t.Tasks != "" && t.Tasks != mcp.TaskForbidden || t.TaskLater):
		err = errors.New("Tasks is forbidden, optional or required, and one of the latter two with TaskLater")
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
		s.log.Warn("a tool is not listed to clients of revisions before 2026-07-28, which would refuse all of the list: its inputSchema is none of an object", "tool", t.Name)
	}
	s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged})
	return nil
}

// RemoveTools takes away the tools of these names that were added with AddTool, and returns how many of them there were.
func (s *Server) RemoveTools(names ...string) int {
	removed := s.addedTools.remove(names...)
	if removed > 0 {
		s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged})
	}
	return removed
}

// callRaw calls a tool of the application's own.
func (r *request) runAddedTool(t *tool, arguments json.RawMessage) (any, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if t.raw.Forward != nil {
		return r.runForwarded(t, arguments)
	}
	if err := t.input.ValidateScanned(arguments); err != nil {
		return r.toolError("Invalid arguments: " + err.Error())
	}
	arguments, err := t.input.FillDefaults(arguments)
	if err != nil {
		return r.toolError("Invalid arguments: " + err.Error())
	}
	result, err := t.raw.Call(r, arguments)
	if err != nil {
		return r.handlerError(err)
	}
	if t.output != nil && result != nil && !result.IsError {
		if err := t.output.Validate(result.StructuredContent); err != nil {
			return nil, r.logError(fmt.Errorf("the result breaks the output schema of the tool %s: %w", t.raw.Name, err))
		}
	}
	return r.rawToolResult(result)
}

// forward calls a tool of another server.
func (r *request) runForwarded(t *tool, arguments json.RawMessage) (any, error) {
	result, err := t.raw.Forward(r, arguments)
	if err != nil {
		return r.handlerError(err)
	}
	if !isObject(result) || jsonscan.Valid(result) != nil {
		return nil, r.logError(fmt.Errorf("the result of the tool %s is no JSON object", t.raw.Name))
	}
	if !r.era.modern {
		return rawJSON(legacyResult(result)), nil
	}
	if jsonscan.Member(result, "resultType") != nil {
		return rawJSON(result), nil
	}
	open := bytes.IndexByte(result, '{') + 1
	typed := append(append(make([]byte, 0, len(result)+32), result[:open]...), `"resultType":"complete"`...)
	for range jsonscan.Members(result) {
		typed = append(typed, ',')
		break
	}
	return rawJSON(append(typed, result[open:]...)), nil
}

// toolError is the result of a call whose arguments are wrong: the model can do something about it (2026-07-28, server/tools, Error Handling).
func (r *request) toolError(message string) (any, error) {
	return r.rawToolResult(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true})
}

func (r *request) rawToolResult(result *mcp.CallToolResult) (any, error) {
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return the same to all
	if own.Content == nil && own.StructuredContent != nil {
		own.Content = []mcp.Content{&mcp.TextContent{Text: string(own.StructuredContent)}}
	}
	own.Content = slices.Clone(own.Content)
	for i, block := range own.Content {
		own.Content[i] = r.era.content(block)
	}
	if f, _ := mcp.FeaturesOf(r.era.revision); !r.era.structuredContent || !f.AnyStructuredOutput && !isObject(own.StructuredContent) {
		own.StructuredContent = nil
	}
	return r.encodeResult(&own, &own.Result)
}
