package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Tool is a tool in MCP's own terms, for what an operation of the catalog cannot be: one whose result has images, sound or resources in it, or is another
// server's. It is for this surface alone.
type Tool struct {
	mcp.Tool // InputSchema nil: any object

	// Call returns the result. The arguments fit the input schema, with its defaults filled in, and live as long as the call. The error is as that of
	// [Resource].Read; what the model is to know of a failure belongs into a result with IsError. It may be called by any number of
	// goroutines at a time.
	Call func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

	// Verbatim passes arguments on as they come, for who checks them: another server.
	Verbatim bool
}

// AddTool offers a tool, in place of one with the same name that was added this way. An operation of the catalog with that name goes first.
func (s *Server) AddTool(t Tool) error {
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	made := &tool{raw: &t}
	err := error(nil)
	switch {
	case !mcp.ValidToolName(t.Name):
		err = errors.New("a name is 1 to 128 letters, digits, '_', '-' and '.'")
	case t.Call == nil:
		err = errors.New("it needs Call")
	case !t.Verbatim:
		made.input, err = schema.Compile(t.InputSchema)
	}
	definition, encodeErr := mcp.Marshal(t.Tool)
	if err = errors.Join(err, encodeErr); err != nil {
		return fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	s.rawTools.add(&item[*tool]{t.Name, made, definition})
	s.announce(news{method: mcp.NotificationToolListChanged})
	return nil
}

// RemoveTools takes away the tools of these names that were added with AddTool, and returns how many of them there were.
func (s *Server) RemoveTools(names ...string) int {
	removed := s.rawTools.remove(names...)
	if removed > 0 {
		s.announce(news{method: mcp.NotificationToolListChanged})
	}
	return removed
}

// callRaw calls a tool of the application's own.
func (r *request) callRaw(t *tool, arguments json.RawMessage) (any, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if !t.raw.Verbatim {
		if err := t.input.ValidateScanned(arguments); err != nil {
			return r.toolFailed("Invalid arguments: " + err.Error())
		}
		filled, err := t.input.FillDefaults(arguments)
		if err != nil {
			return r.toolFailed("Invalid arguments: " + err.Error())
		}
		arguments = filled
	}
	result, err := t.raw.Call(r, arguments)
	if err != nil {
		return r.failed(err)
	}
	return r.toolResult(result)
}

// toolFailed is the result of a call whose arguments are wrong: the model can do something about it (2026-07-28, server/tools, Error Handling).
func (r *request) toolFailed(message string) (any, error) {
	return r.toolResult(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true})
}

func (r *request) toolResult(result *mcp.CallToolResult) (any, error) {
	if result == nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error")
	}
	if result.Content == nil {
		result.Content = []mcp.Content{}
	}
	if !r.era.structured {
		result.StructuredContent = nil
	}
	return r.finish(result, &result.Result)
}

// Progress tells the client how far its request has come: done of total, 0 for a total not known. It is for handlers of tools, prompts and resources; operations
// have [dispatch.Progress]. It does nothing if the client does not ask for progress, or the handler has returned. It is safe for concurrent use.
func Progress(ctx context.Context, done, total float64, message string) {
	if r := requestFrom(ctx); r != nil && r.progress != nil {
		r.progress.report(done, total, message)
	}
}

// Logger returns a logger for the client whose request is being answered, as far as it asks for logs; nobody hears it otherwise. It is for handlers of
// tools, prompts and resources; operations have [dispatch.Logger]. It is safe for concurrent use.
func Logger(ctx context.Context) *slog.Logger {
	if r := requestFrom(ctx); r != nil {
		if level, err := r.logLevel(); err == nil && level != "" {
			return slog.New(&clientLog{ctx: r, link: r.link, level: level.Slog()})
		}
	}
	return slog.New(slog.DiscardHandler)
}
