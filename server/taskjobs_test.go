package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// sleeps blocks until d has passed or the context ends.
func sleeps(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func asksFor(name string) mcp.ElicitParams {
	return mcp.ElicitParams{Message: "Your " + name + "?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"` + name +
			`":{"type":"string"}},"required":["` + name + `"]}`)}
}

// elicited returns the user's input.
func elicited(ctx context.Context, key, name string) (string, error) {
	result, err := server.Elicit(ctx, key, asksFor(name))
	if err != nil {
		return "", err
	}
	if result.Action != mcp.ElicitAccept {
		return string(result.Action), nil
	}
	var content map[string]string
	err = json.Unmarshal(result.Content, &content)
	return content[name], err
}

// addTaskTools adds the tools that the conformance suite requires, and some more.
func addTaskTools(s *server.Server) {
	type handler = func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)
	add := func(name string, support mcp.TaskSupport, call handler) {
		err := s.AddRawTool(
			server.RawTool{Tool: mcp.Tool{Name: name}, Tasks: support,
				TaskLater: strings.HasPrefix(name, "test_"), Call: call})
		if err != nil {
			panic(err)
		}
	}
	add("greet", "",
		func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			var in struct{ Name string }
			_ = json.Unmarshal(arguments, &in)
			return textResult("Hello, " + in.Name + "!"), nil
		})
	add("slow_compute", mcp.TaskOptional,
		func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			var in struct{ Seconds int }
			_ = json.Unmarshal(arguments, &in)
			if err := sleeps(ctx, time.Duration(in.Seconds)*time.Second); err != nil {
				return nil, err
			}
			return textResult("computed"), nil
		})
	add("failing_job", mcp.TaskRequired,
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			result := textResult("no luck")
			result.IsError = true
			return result, sleeps(ctx, time.Second)
		})
	add("protocol_error_job", mcp.TaskOptional,
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, &rpc.Error{Code: -31000, Message: "it broke",
				Data: json.RawMessage(`{"why":1}`)}
		})
	add("panics", mcp.TaskOptional,
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			panic("secret")
		})
	add("exits", mcp.TaskOptional,
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		})
	add("fails", mcp.TaskOptional,
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, errors.New("secret")
		})
	add("returns_nonsense", mcp.TaskOptional,
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"half":`)}, nil
		})
	add("confirm_delete", mcp.TaskOptional,
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			name, err := elicited(ctx, "name", "name")
			if err != nil {
				return nil, err
			}
			return textResult("deleted by " + name), nil
		})
	add("multi_input", mcp.TaskOptional,
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			var all sync.WaitGroup
			var got [2]string
			var failed [2]error
			for i, key := range []string{"first", "second"} {
				all.Go(func() { got[i], failed[i] = elicited(ctx, key, key) })
			}
			all.Wait()
			if err := errors.Join(failed[:]...); err != nil {
				return nil, err
			}
			return textResult(got[0] + " and " + got[1]), nil
		})
	add("test_tool_with_task", mcp.TaskOptional,
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			name, err := elicited(ctx, "user_name", "name")
			if err != nil {
				return nil, err
			}
			server.Progress(ctx, 1, 3, "before")
			if err := server.BecomeTask(ctx); err != nil {
				return nil, err
			}
			server.Progress(ctx, 2, 3, "behind")
			server.Logger(ctx).Error("not to be heard")
			if err := server.BecomeTask(ctx); err != nil { // no effect: the call is a task already
				return nil, err
			}
			if err := sleeps(ctx, time.Second); err != nil {
				return nil, err
			}
			return textResult("done for " + name), nil
		})
}

const (
	tasking   = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	extension = "io.modelcontextprotocol/tasks"
)

// A state is the state of a task, in any form.
type state struct {
	raw            string
	TaskID         string
	Status         string
	StatusMessage  string
	CreatedAt      string
	LastUpdatedAt  string
	TTLMs          *int64
	PollIntervalMs *int64
	TTL            *int64
	PollInterval   *int64
	InputRequests  map[string]struct {
		Method string
		Params struct{ Message string }
	}
	Result *struct {
		Content []struct{ Text string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	ResultType string
	Task       *state
}

func (s state) text() string {
	if s.Result == nil || len(s.Result.Content) == 0 {
		return "none: " + s.raw
	}
	return s.Result.Content[0].Text
}

// fits checks a message against a definition of a published schema, if the schemas are available.
func fits(t *testing.T, revision, definition, text string) {
	t.Helper()
	suites := os.Getenv("STDWIRE_SUITES")
	if suites == "" {
		return
	}
	compiled, ok := published.Load(revision + definition)
	if !ok {
		raw, err := os.ReadFile(filepath.Join(suites, "mcp-schema", revision, "schema.json"))
		assert.NilError(t, err)
		var document map[string]json.RawMessage
		assert.NilError(t, json.Unmarshal(raw, &document))
		raw, err = json.Marshal(
			map[string]any{"$defs": document["$defs"], "$ref": "#/$defs/" + definition})
		assert.NilError(t, err)
		made, err := schema.Compile(raw)
		assert.NilError(t, err)
		compiled, _ = published.LoadOrStore(revision+definition, made)
	}
	assert.NilError(t, compiled.(*schema.Schema).Validate([]byte(text)), "%s: %s", definition, text)
}

var published sync.Map // the compiled schemas of fits

const draft = "ext-tasks-draft"

// A taskClient is a client that calls tools that become tasks. Its messages are checked against the
// extension's schema. Notifications of 2025-11-25 arrive at any time, even before the response that
// contains the task's id.
type taskClient struct {
	*lineClient
	statuses *[]message
}

func (j taskClient) next() message {
	j.t.Helper()
	for {
		m := j.lineClient.next()
		if m.Method != "notifications/tasks/status" {
			return m
		}
		fits(j.t, experimental, "TaskStatusNotification", m.raw)
		*j.statuses = append(*j.statuses, m)
	}
}

func (j taskClient) request(method, params string) message {
	j.t.Helper()
	j.start(method, params)
	return j.next()
}

func (j taskClient) want(method, params, result string) {
	j.t.Helper()
	j.request(method, params).is(j.lineClient, result)
}

func (j taskClient) expectError(method, params string, code int, text string) message {
	j.t.Helper()
	return j.request(method, params).fails(code, text)
}

// expectStatus waits for the notification that a task has a status.
func (j taskClient) expectStatus(id, status string) {
	j.t.Helper()
	for {
		for len(*j.statuses) == 0 {
			m := j.lineClient.next().expectMethod("notifications/tasks/status", "")
			fits(j.t, experimental, "TaskStatusNotification", m.raw)
			*j.statuses = append(*j.statuses, m)
		}
		var now state
		must(j.t, json.Unmarshal((*j.statuses)[0].Params, &now))
		*j.statuses = (*j.statuses)[1:]
		if now.TaskID == id && now.Status == status {
			return
		}
	}
}

// newTaskServer returns a server with the tools of addTaskTools. It is closed when the test ends.
func newTaskServer(t *testing.T, o server.Options, add ...func(*server.Server)) *server.Server {
	s := made(o, append(add, addTaskTools)...)
	t.Cleanup(func() { assert.Check(t, s.Close(context.Background()) == nil) })
	return s
}

func newTaskClient(t *testing.T, s *server.Server, revision, capabilities string) taskClient {
	t.Helper()
	k := connect(t, s)
	k.check = nil // the revision's own schema does not know the extension
	k.speak(revision, capabilities)
	return taskClient{k, new([]message)}
}

// state returns the task in a result.
func (j taskClient) state(m message, definition string) (s state) {
	j.t.Helper()
	assert.Assert(j.t, m.Error == nil, m.raw)
	s.raw = string(m.Result)
	assert.NilError(j.t, json.Unmarshal(m.Result, &s))
	if j.modern() {
		fits(j.t, draft, definition, s.raw)
	} else {
		fits(j.t, "2025-11-25", definition, s.raw)
	}
	return s
}

// begin calls a tool that becomes a task.
func (j taskClient) begin(tool, arguments string) state {
	j.t.Helper()
	s := j.state(j.request("tools/call",
		fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)), "CreateTaskResult")
	assert.Equal(j.t, s.ResultType, "task", s.raw)
	assert.Equal(j.t, s.Status, "working")
	return s
}

func (j taskClient) get(id string) state {
	j.t.Helper()
	return j.state(j.request("tasks/get", fmt.Sprintf(`{"taskId":%q}`, id)), "GetTaskResult")
}

// settled returns the state of a task after all goroutines have blocked.
func (j taskClient) settled(id string) state {
	j.t.Helper()
	synctest.Wait()
	return j.get(id)
}

func (j taskClient) update(id, responses string) {
	j.t.Helper()
	m := j.request("tasks/update", fmt.Sprintf(`{"taskId":%q,"inputResponses":%s}`, id, responses))
	m.is(j.lineClient, `{}`)
	fits(j.t, draft, "UpdateTaskResult", string(m.Result))
}

// confirm accepts the only question, and returns its message.
func (j taskClient) confirm(id string) (question string) {
	j.t.Helper()
	now := j.settled(id)
	assert.Equal(j.t, len(now.InputRequests), 1, "%.2000s", now.raw)
	for key, q := range now.InputRequests {
		question = q.Params.Message
		j.update(id, fmt.Sprintf(`{%q:{"action":"accept"}}`, key))
	}
	return question
}

func keys(t *testing.T, object string) (all []string) {
	var members map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal([]byte(object), &members))
	for key := range members {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}
