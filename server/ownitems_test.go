package server_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Headers that repeat arguments are compared for a tool that only the caller has, too.
func TestHeadersOfOwnTools(t *testing.T) {
	s := quiet.New(server.Info{Name: "s", Version: "1"}, nil)
	own, errs := server.NewOwnItems([]server.Item{{Kind: mcp.KindTool,
		Definition: json.RawMessage(`{"name":"mine","inputSchema":{"type":"object","properties":` +
			`{"region":{"type":"string","x-mcp-header":"Region"}}}}`),
		Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[]}`), nil
		}}})
	assert.Equal(t, len(errs), 0)
	type ada struct{}
	s.Integration().SetUpstreams(server.Upstreams{
		Own: func(ctx context.Context) []*server.OwnItems {
			if ctx.Value(ada{}) == nil {
				return []*server.OwnItems{}
			}
			return []*server.OwnItems{own}
		}})
	for _, tt := range []struct {
		ctx     context.Context
		header  []string
		refused bool
	}{
		{context.WithValue(t.Context(), ada{}, true), []string{"eu"}, false},
		{context.WithValue(t.Context(), ada{}, true), []string{"us"}, true},
		{context.WithValue(t.Context(), ada{}, true), nil, true},
		{t.Context(), []string{"us"}, false}, // it is not this caller's
	} {
		err := s.Integration().CheckToolHeaders(tt.ctx, "mine",
			json.RawMessage(`{"name":"mine","arguments":{"region":"eu"}}`),
			func(name string) []string { return tt.header })
		assert.Equal(t, err != nil, tt.refused, "%v: %v", tt.header, err)
	}
}

// The tasks of a tool of which nothing is known are hidden where tools depend on the caller.
func TestTaskOfUnknownTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Visible = func(context.Context, mcp.Kind, string) bool { return true }
		s := newTaskServer(t, o)
		j := newTaskClient(t, s, newest, tasking)
		id := j.begin("slow_compute", `{"seconds":5}`).TaskID
		assert.Equal(t, s.Remove(mcp.KindTool, "slow_compute"), 1)
		j.get(id)
		s.Integration().SetUpstreams(server.Upstreams{
			Own: func(context.Context) []*server.OwnItems { return []*server.OwnItems{} }})
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			j.expectError(method, about(id), -32602, "Unknown task: "+id)
		}
		s.Integration().SetUpstreams(server.Upstreams{})
		assert.Equal(t, j.get(id).Status, "working", "it was not cancelled")
	})
}

// A notification that belongs to no request does not wait for what only its client has: what is
// known of it decides.
func TestNotificationsDoNotWaitForOwnItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Visible = func(context.Context, mcp.Kind, string) bool { return true }
		s := newTaskServer(t, o)
		var waits atomic.Bool
		s.Integration().SetUpstreams(server.Upstreams{
			Own: func(context.Context) []*server.OwnItems {
				if waits.Load() {
					time.Sleep(time.Hour)
				}
				return []*server.OwnItems{}
			},
			Known: func(context.Context) []*server.OwnItems { return []*server.OwnItems{} }})
		j := newTaskClient(t, s, "2025-11-25", `{"tasks":{}}`)
		task := j.beginNested("slow_compute", `{}`)
		waits.Store(true)
		began := time.Now()
		j.expectStatus(task.TaskID, "completed")
		assert.Assert(t, time.Since(began) < time.Minute, "%v", time.Since(began))
	})
}
