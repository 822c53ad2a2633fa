package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func TestTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), newest, tasking)
		id := j.begin("confirm_delete", `{}`).TaskID
		now := j.settled(id)
		assert.Equal(t, now.Status, "input_required")
		assert.Equal(t, len(now.InputRequests), 1)
		assert.Equal(t, now.InputRequests["name"].Method, "elicitation/create")
		assert.Equal(t, now.InputRequests["name"].Params.Message, "Your name?")

		j.update(id, `{}`)
		j.update(id, `{"other":{"action":"accept"},"more":3}`)
		assert.Equal(t, j.settled(id).Status, "input_required")

		// A response that does not match the form is requested again under another key, because
		// clients recognize answered requests by their keys.
		j.update(id, `{"name":{"action":"accept","content":{"name":7}}}`)
		now = j.settled(id)
		assert.Equal(t, now.Status, "input_required")
		assert.Equal(t, len(now.InputRequests), 1)
		assert.Equal(t, now.InputRequests["name#2"].Params.Message, "Your name?")
		j.update(id, `{"name":{"action":"accept","content":{"name":"late"}}}`)
		assert.Equal(t, j.settled(id).Status, "input_required")
		j.update(id, `{"name#2":{"action":"accept","content":{"name":"Bob"}}}`)
		now = j.settled(id)
		assert.Equal(t, now.Status, "completed")
		assert.Equal(t, now.text(), "deleted by Bob")
		assert.Assert(t, now.InputRequests == nil)
		j.update(id, `{"name#2":{"action":"accept","content":{"name":"Eve"}}}`)
		assert.Equal(t, j.get(id).text(), "deleted by Bob")
	})
}

func TestTaskAsksSeveralThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), newest, tasking)
		id := j.begin("multi_input", `{}`).TaskID
		assert.Equal(t, len(j.settled(id).InputRequests), 2)
		j.update(id, `{"second":{"action":"accept","content":{"second":"B"}}}`)
		now := j.settled(id)
		assert.Equal(t, now.Status, "input_required")
		assert.Equal(t, len(now.InputRequests), 1)
		assert.Equal(t, now.InputRequests["first"].Method, "elicitation/create")
		j.update(id, `{"first":{"action":"decline"},"second":{"action":"cancel"}}`)
		now = j.settled(id)
		assert.Equal(t, now.Status, "completed")
		assert.Equal(t, now.text(), "decline and B")

		// If a client disconnects meanwhile, no handler is left waiting.
		id = j.begin("multi_input", `{}`).TaskID
		synctest.Wait()
		j.want("tasks/cancel", `{"taskId":"`+id+`"}`, `{}`)
		now = j.settled(id)
		assert.Equal(t, now.Status, "cancelled")
		assert.Assert(t, now.InputRequests == nil, now.raw)
	})
}

// A question that the handler has given up is closed, and its task continues.
func TestTaskGivesUpAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "impatient"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						soon, cancel := context.WithTimeout(ctx, time.Second)
						defer cancel()
						_, err := server.Roots(soon, "where")
						if !errors.Is(err, context.DeadlineExceeded) {
							return nil, err
						}
						return textResult("never mind"), sleeps(ctx, time.Second)
					}}))
		}), newest, `{"roots":{},"extensions":{"`+extension+`":{}}}`)
		id := j.begin("impatient", `{}`).TaskID
		assert.Equal(t, j.settled(id).InputRequests["where"].Method, "roots/list")
		time.Sleep(time.Second)
		assert.Equal(t, j.settled(id).Status, "working")
		j.update(id, `{"where":{"roots":[]}}`)
		time.Sleep(time.Second)
		assert.Equal(t, j.settled(id).text(), "never mind")
	})
}

func TestTaskOfAClientThatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), newest, `{"extensions":{"`+extension+`":{}}}`)
		for _, tool := range []string{"confirm_delete", "multi_input"} {
			now := j.settled(j.begin(tool, `{}`).TaskID)
			assert.Equal(t, now.Status, "failed", now.raw)
			assert.Equal(t, now.Error.Code, -32021)
			assert.Equal(t, string(now.Error.Data),
				`{"requiredCapabilities":{"elicitation":{"form":{}}}}`)
		}
	})
}

// works is a catalog with an operation for each kind of failure.
func works() *dispatch.Catalog {
	c := notes()
	type name struct {
		Name string `json:"name"`
	}
	dispatch.Add(c, dispatch.Spec{Name: "note.count", Summary: "Count notes.", Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (int, error) {
			dispatch.Progress(ctx, 3, 0, strings.Repeat("é", 1000))
			return 4, sleeps(ctx, time.Second)
		})
	dispatch.Add(c, dispatch.Spec{Name: "note.sign", Summary: "Sign.", Type: dispatch.Destructive},
		func(ctx context.Context, _ struct{}) (string, error) {
			return elicited(ctx, "name", "name")
		})
	dispatch.Add(c, dispatch.Spec{Name: "note.vanish", Summary: "Vanish.", Type: dispatch.Write,
		Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, _ struct{}) (name, error) {
			who, err := elicited(ctx, "name", "name")
			if err != nil {
				return name{}, err
			}
			return name{who}, dispatch.Confirm(ctx, "Really, %s?", who)
		})
	return c
}

func TestOperationsAsTasks(t *testing.T) {
	for _, projection := range []server.Projection{server.ToolPerOperation, server.ToolPerService} {
		t.Run(fmt.Sprint(projection), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := quiet
				o.Tools = projection
				o.Tasks.For = func(op *dispatch.Operation) mcp.TaskSupport {
					if op.Name() == "note.put" {
						return mcp.TaskForbidden
					}
					return mcp.TaskOptional
				}
				s := o.New(server.Info{Name: "test", Version: "1.2"}, works())
				t.Cleanup(func() { must(t, s.Close(context.Background())) })
				j := newTaskClient(t, s, newest, tasking)
				call := func(action, params string) (tool, arguments string) {
					if projection == server.ToolPerService {
						return "note", fmt.Sprintf(`{"action":%q,"params":%s}`, action, params)
					}
					return "note_" + action, params
				}
				put, arguments := call("put", `{"id":"new"}`)
				assert.Equal(t, decode(t,
					j.request("tools/call",
						fmt.Sprintf(`{"name":%q,"arguments":%s}`, put,
							arguments)).raw).Structured.Data, "put new")
				if projection == server.ToolPerService {
					assert.Assert(t,
						decode(t, j.request("tools/call",
							`{"name":"note","arguments":{"action":"help"}}`).raw).Structured.Success)
				}

				id := j.begin(call("count", `{}`)).TaskID
				now := j.settled(id)
				assert.Equal(t, now.StatusMessage, "3: "+strings.Repeat("é", 498)+"…")
				time.Sleep(time.Second)
				assert.Equal(t, j.settled(id).text(), `{"success":true,"data":4,"error":null}`)

				id = j.begin(call("delete", `{"id":"7"}`)).TaskID
				j.confirm(id)
				assert.Equal(t, j.settled(id).text(),
					`{"success":true,"data":"deleted 7","error":null}`)

				id = j.begin(call("delete", `{}`)).TaskID
				now = j.settled(id)
				assert.Equal(t, now.Status, "completed")
				assert.Assert(t, now.Result.IsError &&
					strings.Contains(now.text(), "missing_param"), now.raw)

				// An operation that asks and must be confirmed runs twice, and gets the same
				// answer.
				id = j.begin(call("vanish", `{}`)).TaskID
				synctest.Wait()
				j.update(id, `{"name":{"action":"accept","content":{"name":"Bob"}}}`)
				assert.Equal(t, j.confirm(id)[:12], "Really, Bob?")
				assert.Equal(t, j.settled(id).text(),
					`{"success":true,"data":{"name":"Bob"},"error":null}`)

				mute := newTaskClient(t, s, newest, `{"extensions":{"`+extension+`":{}}}`)
				id = mute.begin(call("sign", `{}`)).TaskID
				now = mute.settled(id)
				assert.Assert(t, now.Status == "completed" &&
					strings.Contains(now.text(), "confirmation_required"), now.raw)
				id = mute.begin(call("vanish", `{}`)).TaskID
				now = mute.settled(id)
				assert.Equal(t, now.Status, "failed", now.raw)
				assert.Equal(t, now.Error.Code, -32021)
			})
		})
	}
}

// The memory of answers for a handler that runs twice is bounded: a question whose answer is too
// large is asked again.
func TestLargeAnswersAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Tasks.For = func(*dispatch.Operation) mcp.TaskSupport { return mcp.TaskRequired }
		s := o.New(server.Info{Name: "test", Version: "1.2"}, works())
		t.Cleanup(func() { must(t, s.Close(context.Background())) })
		j := newTaskClient(t, s, newest, tasking)
		id := j.begin("note_vanish", `{}`).TaskID
		synctest.Wait()
		large := `{"action":"accept","content":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`
		j.update(id, `{"name":`+large+`}`)
		j.confirm(id)
		assert.Equal(t, j.settled(id).InputRequests["name#2"].Params.Message, "Your name?")
		j.update(id, `{"name#2":`+large+`}`)
		assert.Equal(t, j.settled(id).Status, "completed")
	})
}
