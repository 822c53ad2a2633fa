package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const many = 8

// askMany asks from several goroutines, and returns a description of the outcomes.
func askMany(ctx context.Context) (string, error) {
	var group sync.WaitGroup
	var said [many]string
	var errs [many]error
	for i := range many {
		group.Go(func() {
			ticket, err := server.Once(ctx, fmt.Sprint("ticket ", i),
				func(context.Context) (int, error) { return i, nil })
			if err != nil {
				errs[i] = err
				return
			}
			r, err := server.Elicit(ctx, fmt.Sprint(i),
				mcp.ElicitParams{Message: fmt.Sprint(i),
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			if errs[i] = err; err == nil {
				said[i] = fmt.Sprint(ticket, r.Action)
			}
		})
	}
	group.Wait()
	return strings.Join(said[:], " "), errors.Join(errs[:]...)
}

const askedMany = "0accept 1accept 2accept 3accept 4accept 5accept 6accept 7accept"

// A handler may ask from several goroutines at once.
func TestAskFromManyGoroutines(t *testing.T) {
	s := everywhere(quiet, askMany)
	const yes = `{"action":"accept"}`
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, everything)
			k.start(p.method, p.params)
			for range many {
				k.reply(k.next().expectMethod("elicitation/create", ""), yes)
			}
			k.next().expectText(askedMany)
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, everything)
			a := k.request(p.method, p.params).asks("0", "1", "2", "3", "4", "5", "6", "7")
			var answers []string
			for i := range many {
				answers = append(answers, fmt.Sprintf(`"%d":%s`, i, yes))
			}
			b := k.again(p, a, "{"+strings.Join(answers[:5], ",")+"}").asks("5", "6", "7")
			k.again(p, b, "{"+strings.Join(answers[5:], ",")+"}").expectText(askedMany)
		})
	})
}

// A handler may return while its goroutines still ask. The client gets the questions asked up to
// then.
func TestHandlerDoesNotWaitForWhoAsks(t *testing.T) {
	late := make(chan struct{})
	var asking sync.WaitGroup
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		for i := range many {
			asking.Go(func() {
				<-late
				_, _ = elicited(ctx, fmt.Sprint(i), "v")
			})
		}
		_, err := elicitName(ctx)
		return "", err
	})
	k := speak(t, s, newest, everything)
	for range 20 {
		m := k.request("tools/call", `{"name":"t"}`)
		close(late)
		asking.Wait()
		m.asks("name")
		late = make(chan struct{})
	}
}

// Questions may be asked while a call becomes a task: earlier ones belong to the call, later ones
// to the task.
func TestBecomeTaskWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "hasty"}, Tasks: mcp.TaskRequired, TaskLater: true,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						var group sync.WaitGroup
						var errs [3]error
						group.Go(func() { errs[0] = server.BecomeTask(ctx) })
						group.Go(func() { errs[1] = server.BecomeTask(ctx) })
						group.Go(func() { _, errs[2] = elicited(ctx, "name", "name") })
						group.Wait()
						return textResult("done"), errors.Join(errs[:]...)
					}}))
		}), newest, tasking)
		was := map[string]int{}
		for range 50 {
			m := j.request("tools/call", `{"name":"hasty"}`)
			var result struct{ ResultType string }
			must(t, json.Unmarshal(m.Result, &result))
			was[result.ResultType]++
			if result.ResultType == "task" {
				j.request("tasks/cancel",
					fmt.Sprintf(`{"taskId":%q}`, j.state(m, "CreateTaskResult").TaskID))
			}
		}
		assert.Equal(t, was["task"]+was["input_required"], 50, "%v", was)
	})
}

// Defect G6 of other implementations: a handler that asks a legacy client twice fails, and messages
// for modern clients are sent to a legacy one.
func TestG6LegacyClientIsAskedTwice(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		for _, key := range []string{"a", "b", "c"} {
			if _, err := server.Elicit(ctx, key,
				mcp.ElicitParams{Message: key,
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{}}`)}); err != nil {
				return "", err
			}
		}
		return "all three", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-06-18", everything)
		k.start(p.method, p.params)
		for range 3 {
			k.reply(k.next().expectMethod("elicitation/create", ""), `{"action":"accept"}`)
		}
		m := k.next()
		m.expectText("all three")
		assert.Assert(t, !strings.Contains(m.raw, "inputRequests") &&
			!strings.Contains(m.raw, "resultType"), m.raw)
	})
}
