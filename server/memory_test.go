package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A request on a stream has an account, which is closed with the request.
func TestHandlersFindTheAccountOfTheirRequest(t *testing.T) {
	for _, revision := range []string{"2025-06-18", newest} {
		t.Run(revision, func(t *testing.T) {
			budget := dispatch.NewBudget(2000)
			var kept atomic.Pointer[context.Context]
			s := made(server.Options{Memory: budget}, func(s *server.Server) {
				must(t, s.AddRawTool(
					server.RawTool{Tool: mcp.Tool{Name: "take"},
						Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
							error) {
							child, cancel := context.WithCancel(ctx)
							defer cancel()
							if err := dispatch.Reserve(child, 1500); err != nil {
								return nil, err
							}
							kept.Store(&ctx)
							held := (*quota.Pool)(budget).Held("")
							return textResult(fmt.Sprint(held)), nil
						}}))
			})
			assert.Equal(t, s.Integration().Options().Memory, budget)
			k := speak(t, s, revision, `{}`)
			for range 3 {
				m := k.request("tools/call", `{"name":"take"}`)
				assert.Assert(t, strings.Contains(m.raw, `"text":"1500"`), m.raw)
				assert.Equal(t, (*quota.Pool)(budget).Used(), int64(0))
			}
			late := quota.FromContext(*kept.Load())
			assert.NilError(t, late.Take(1000))
			assert.Equal(t, (*quota.Pool)(budget).Used(), int64(0), "what a handler leaves behind holds nothing")
		})
	}
}

// A task outlives its request, and so does the memory that it reserves.
func TestTasksHaveAnAccountOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Memory = dispatch.NewBudget(2000)
		release := make(chan struct{})
		s := newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "take"}, Tasks: mcp.TaskRequired,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						if err := dispatch.Reserve(ctx, 1500); err != nil {
							return nil, err
						}
						<-release
						return textResult("done"), nil
					}}))
		})
		j := newTaskClient(t, s, newest, tasking)
		id := j.begin("take", `{}`).TaskID
		synctest.Wait()
		assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(1500))
		close(release)
		assert.Equal(t, j.settled(id).Status, "completed")
		assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))
	})
}

// A principal with many clients cannot use up the tasks of others.
func TestOnePrincipalLeavesTasksToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		release := make(chan struct{})
		o := quiet
		o.Tasks.MaxRunning = 1 // and 16 in total
		s := newTaskServer(t, o, stubborn(&running, release))
		call := func(principal, owner string) error {
			account := (*quota.Pool)(s.Integration().Options().Memory).Open(owner)
			defer account.Close()
			ctx := quota.NewContext(t.Context(), account)
			c := s.Integration().NewConn(context.Background(),
				server.ConnOptions{Principal: principal})
			t.Cleanup(c.Close)
			handle := func(method, params string) error {
				_, err := c.Handle(ctx,
					&rpc.Request{ID: rpc.IntID(1), Method: method, Params: json.RawMessage(params)},
					nil)
				return err
			}
			assert.NilError(t,
				handle("initialize",
					`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`))
			return handle("tools/call", `{"name":"stubborn","task":{}}`)
		}
		for range 8 {
			assert.NilError(t, call("", quota.Anonymous))
		}
		assert.Error(t, call("", quota.Anonymous),
			"you have 8 running tasks, which is your share; cancel one or try again later (code -31999)")
		assert.NilError(t, call("ada", "ada"))
		synctest.Wait()
		assert.Equal(t, running.Load(), int32(9))
		close(release)
		synctest.Wait()
		assert.NilError(t, call("", quota.Anonymous))
	})
}

// A request that goes on after its connection has ended gives nothing back that others hold.
func TestUnsubscribeAfterTheEnd(t *testing.T) {
	watched := dispatch.NewBudget(1000)
	s := made(server.Options{Watched: watched},
		func(s *server.Server) { must(t, s.AddResourceTemplate(echoes("t:{id}"))) })
	var all [2]*server.Conn
	handle := func(c *server.Conn, method, params string) {
		_, err := c.Handle(t.Context(),
			&rpc.Request{ID: rpc.IntID(1), Method: method, Params: json.RawMessage(params)}, nil)
		assert.NilError(t, err)
	}
	for i := range all {
		all[i] = s.Integration().NewConn(t.Context(), server.ConnOptions{})
		handle(all[i], "initialize",
			`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		handle(all[i], "resources/subscribe", `{"uri":"t:1"}`)
	}
	held := (*quota.Pool)(watched).Used()
	all[0].Close()
	handle(all[0], "resources/unsubscribe", `{"uri":"t:1"}`)
	assert.Equal(t, (*quota.Pool)(watched).Used(), held/2)
	all[1].Close()
	assert.Equal(t, (*quota.Pool)(watched).Used(), int64(0))
}

// A subscription to a resource counts with its URI and the memory of its map entries.
func TestSubscriptionsToResourcesAreCounted(t *testing.T) {
	budget := dispatch.NewBudget(1000)
	s := made(server.Options{Memory: budget},
		func(s *server.Server) { must(t, s.AddResourceTemplate(echoes("t:{id}"))) })
	k := speak(t, s, "2025-06-18", `{}`)
	long := func(c string) string { return `{"uri":"t:` + strings.Repeat(c, 598) + `"}` }
	k.want("resources/subscribe", long("a"), `{}`)
	k.want("resources/subscribe", long("a"), `{}`)
	assert.Equal(t, (*quota.Pool)(budget).Used(), int64(600+256))
	k.expectError("resources/subscribe", long("b"), rpc.CodeBusy,
		"There is no room for another subscription")
	k.want("resources/unsubscribe", long("a"), `{}`)
	k.want("resources/unsubscribe", long("a"), `{}`)
	k.want("resources/subscribe", long("b"), `{}`)
	k.stream.Close()
	<-k.ended
	k.ended <- nil // for the next wait
	assert.Equal(t, (*quota.Pool)(budget).Used(), int64(0))

	listen := func(uris string) string {
		return `{"notifications":{"resourceSubscriptions":[` + uris + `]}}`
	}
	k = speak(t, s, newest, `{}`)
	k.expectError("subscriptions/listen", listen(`"t:1","t:2","t:3","t:4"`), rpc.CodeBusy,
		"There is no room for another subscription")
	k.request("subscriptions/listen", listen(`"t:1","t:2","t:3"`)).expectMethod(acknowledged, "")
	assert.Equal(t, (*quota.Pool)(budget).Used(), int64(3*(3+256)))
	k.stream.Close()
	<-k.ended
	k.ended <- nil
	assert.Equal(t, (*quota.Pool)(budget).Used(), int64(0))
}
