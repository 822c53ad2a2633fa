package server_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Related list changes are announced once, when the last caller releases them. Changes of a single
// item are announced at once.
func TestDeferListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, "2025-11-25", `{}`)
		k.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
		change := func() {
			for i := range 3 {
				must(t, s.AddResource(resource(fmt.Sprintf("y:%d", i))))
				time.Sleep(time.Second)
			}
		}
		one, other := s.Integration().DeferListChanged(), s.Integration().DeferListChanged()
		change()
		s.ResourceUpdated("x:1")
		k.next().expectMethod(updated, `{"uri":"x:1"}`)
		one()
		one() // a second call of release has no effect
		change()
		k.expectNothing()
		other()
		k.next().expectMethod("notifications/resources/list_changed", "")
		time.Sleep(time.Second)
		k.expectNothing()

		s.Integration().DeferListChanged()() // without a change
		time.Sleep(time.Second)
		k.expectNothing()
	})
}

// Only the clients that are concerned are told, in both eras, of the lists of these kinds that the
// server has.
func TestListsChanged(t *testing.T) {
	all := []string{"resources", "tools"}
	for name, tt := range map[string]struct {
		concerned func(principal, client string) bool
		kinds     []mcp.Kind
		ada, bob  []string
	}{
		"everybody":           {nil, nil, all, all},
		"everybody, one kind": {nil, []mcp.Kind{mcp.KindResource}, all[:1], all[:1]},
		"no such list": {nil, []mcp.Kind{mcp.KindPrompt, mcp.KindSkill, mcp.KindApp},
			nil, nil},
		"a principal": {func(of, _ string) bool { return of == "ada" }, nil, all, nil},
		"a program": {func(_, client string) bool { return client == "of bob" },
			[]mcp.Kind{mcp.KindTool, mcp.KindResourceTemplate}, nil, all},
		"nobody": {func(string, string) bool { return false }, nil, nil, nil},
		"a panic for one of them": {func(of, _ string) bool {
			if of == "ada" {
				panic("of the application")
			}
			return true
		}, nil, nil, all},
		"a Goexit for one of them": {func(of, _ string) bool {
			if of == "bob" {
				runtime.Goexit()
			}
			return true
		}, nil, all, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := three(t, quiet)
				legacy, modern := map[string]queueLink{}, map[string]queueLink{}
				for _, who := range []string{"ada", "bob"} {
					legacy[who], modern[who] = make(queueLink, 10), make(queueLink, 10)
					c := s.Integration().NewConn(context.Background(),
						server.ConnOptions{Link: legacy[who], Principal: who})
					defer c.Close()
					handle(t, c, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
						"protocolVersion":"2025-11-25","capabilities":{},
						"clientInfo":{"name":"of %s","version":"1"}}}`, who)
					handle(t, c, nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)

					listening := s.Integration().NewConn(context.Background(),
						server.ConnOptions{Principal: who})
					defer listening.Close()
					go handle(t, listening, modern[who], `{"jsonrpc":"2.0","id":1,
						"method":"subscriptions/listen","params":{"_meta":{
						"io.modelcontextprotocol/protocolVersion":"%s",
						"io.modelcontextprotocol/clientCapabilities":{},
						"io.modelcontextprotocol/clientInfo":{"name":"of %s","version":"1"}},
						"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}}`,
						newest, who)
					synctest.Wait()
					assert.Equal(t, <-modern[who], acknowledged)
				}
				s.Integration().ListsChanged(tt.concerned, tt.kinds...)
				synctest.Wait()
				for who, want := range map[string][]string{"ada": tt.ada, "bob": tt.bob} {
					for _, link := range []queueLink{legacy[who], modern[who]} {
						told := map[string]bool{}
						for len(link) > 0 {
							list := strings.TrimSuffix(<-link, "/list_changed")
							told[strings.TrimPrefix(list, "notifications/")] = true
						}
						assert.DeepEqual(t, slices.Sorted(maps.Keys(told)), want)
					}
				}
			})
		})
	}
}

// However many connections there are, they are looked at by one goroutine.
func TestListsChangedGoroutine(t *testing.T) {
	s := three(t, quiet)
	for range 10 {
		speak(t, s, "2025-11-25", `{}`).request("ping", `{}`) // it has handled initialized
	}
	calls, goroutines := 0, map[string]bool{}
	s.Integration().ListsChanged(func(string, string) bool {
		calls++
		stack := make([]byte, 100)
		id, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
		goroutines[id] = true
		return false
	})
	assert.Equal(t, calls, 10)
	assert.Equal(t, len(goroutines), 1)
}
