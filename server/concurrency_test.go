package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Defects G7 and M4 of other implementations: a slow handler delays later messages, even its own
// cancellation.
func TestG7SlowHandlersDelayNobody(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
			s := blocks(quiet)
			k := speak(t, s.Server, revision, `{}`)
			for range 10 {
				k.start(p.method, p.params)
				<-s.begun
			}
			k.expectNothing()
			assert.Assert(t, k.request("tools/list", "").Result != nil)
			first := k.id - 11
			for i := range 10 {
				k.write(fmt.Sprintf(
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
					first+i))
				assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
			}
			k.expectNothing() // none of them gets a response
		})
	})
}

// Defect G8 of other implementations: the number of waiting and running requests is unlimited.
func TestG8WhatRunsAndWaitsIsBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{MaxRunning: 2, MaxQueued: 3}
	s := blocks(o)
	k := speak(t, s.Server, "2025-11-25", `{}`)
	for range 2 {
		k.start("tools/call", `{"name":"t"}`)
		<-s.begun
	}
	for range 3 {
		k.start("tools/call", `{"name":"t"}`)
	}
	k.expectError("tools/call", `{"name":"t"}`, rpc.CodeBusy, "too many requests wait already")
	k.expectError("ping", "", rpc.CodeBusy, "too many requests wait already")
	for id := 6; id >= 2; id-- { // first those that wait: they never run
		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	for range 2 {
		assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
	}
	for m := k.request("ping", ""); m.Error != nil; m = k.request("ping", "") {
		m.fails(rpc.CodeBusy, "") // they are about to end
	}
	assert.Equal(t, len(s.begun), 0)
}

// Defect G14 of other implementations: the items of a server cannot change while it is used.
func TestG14EverythingMayChangeAtAnyTime(t *testing.T) {
	c := dispatch.NewCatalog()
	o := quiet
	o.PageSize = 2
	s := o.New(server.Info{Name: "test", Version: "1.2"}, c)
	completes(s)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	for name, d := range kinds {
		changes.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%s%d", name.Info().Short, i%5)
				if err := d.add(s, key); err != nil {
					t.Error(err)
					return
				}
				s.ResourceUpdated("x:r")
				if i%2 == 0 {
					d.remove(s, key)
				}
			}
		})
	}
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				addTool(c, fmt.Sprintf("op.n%d", i%5))
				c.Remove(fmt.Sprintf("op.n%d", i%5))
			}
		}
	})
	t.Run("clients", func(t *testing.T) {
		for _, revision := range []string{"2025-06-18", newest, newest} {
			t.Run(revision, func(t *testing.T) {
				t.Parallel()
				k := speak(t, s, revision, `{}`)
				answer := func(method, params string) {
					t.Helper()
					k.start(method, params)
					m := k.next()
					for m.Method != "" { // notifications
						m = k.next()
					}
					assert.Assert(t, m.Error == nil || m.Error.Code == -32602 ||
						m.Error.Code == -32002, m.raw)
				}
				if k.modern() {
					k.start("subscriptions/listen",
						`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:r"]}}`)
				} else {
					answer("resources/subscribe", `{"uri":"x:r"}`)
				}
				for i := range 50 {
					for _, d := range kinds {
						answer(d.method, "")
					}
					answer("tools/call", fmt.Sprintf(`{"name":"tool%d"}`, i%5))
					answer("tools/call", fmt.Sprintf(`{"name":"op_n%d"}`, i%5))
					answer("prompts/get", fmt.Sprintf(`{"name":"prompt%d"}`, i%5))
					answer("resources/read", fmt.Sprintf(`{"uri":"r:resource%d"}`, i%5))
					answer("resources/read", `{"uri":"x:1/2"}`)
					answer("completion/complete",
						`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)
				}
			})
		}
	})
	close(stop)
	changes.Wait()
}

// Defect G17 of other implementations: handlers continue after their client has disconnected.
func TestG17HandlersEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := blocks(quiet)
		k := speak(t, s.Server, newest, `{}`)
		for _, p := range places {
			k.start(p.method, p.params)
			<-s.begun
		}
		k.stream.Close()
		for range places {
			assert.ErrorIs(t, <-s.ended, rpc.ErrShutdown)
		}
	})
}

// Defect M3 of other implementations: one client cancels the requests of another that have the same
// id.
func TestM3ClientsCancelTheirOwnRequests(t *testing.T) {
	s := blocks(quiet)
	victim, attacker := speak(t, s.Server, newest, `{}`), speak(t, s.Server, newest, `{}`)
	for _, k := range []*lineClient{victim, attacker} {
		k.start("tools/call", `{"name":"t"}`)
		<-s.begun
	}
	for range 2 {
		attacker.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		attacker.expectNothing()
	}
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled) // the client's own request
	victim.expectNothing()
	assert.Equal(t, len(s.ended), 0)
	victim.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
}

// Arguments are valid during the whole call, whatever messages arrive meanwhile.
func TestArgumentsAreNotOverwritten(t *testing.T) {
	release := make(chan struct{})
	s := made(quiet, func(s *server.Server) {
		slow := echo("slow", `{"type":"object"}`)
		slow.Call = func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult,
			error) {
			before := bytes.Clone(arguments)
			<-release
			return &mcp.CallToolResult{
				Content: []mcp.Content{
					&mcp.TextContent{Text: fmt.Sprint(bytes.Equal(before, arguments))}}}, nil
		}
		must(t, s.AddRawTool(slow))
	})
	k := speak(t, s, newest, `{}`)
	for i := range 10 {
		k.start("tools/call",
			fmt.Sprintf(`{"name":"slow","arguments":{"x":%q}}`,
				strings.Repeat(fmt.Sprint(i), 2000)))
	}
	for range 50 {
		k.expectNothing()
	}
	close(release)
	for range 10 {
		m := k.next()
		assert.Assert(t, strings.Contains(m.raw, `"text":"true"`), m.raw)
	}
}
