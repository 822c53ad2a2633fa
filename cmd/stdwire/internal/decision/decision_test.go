package decision

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

var discard = slog.New(slog.DiscardHandler)

// A gateway follows the decisions in a store.
type gateway struct {
	t *testing.T
	*Decisions
	state atomic.Pointer[State]
}

func follow(t *testing.T, s store.Store) *gateway {
	g := &gateway{t: t, Decisions: New(s, discard)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.Follow(ctx, func(s *State) { g.state.Store(s) })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return g
}

// describe returns a state as "id=switched …; name=definition …".
func describe(s *State) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(s.Switched)) {
		parts = append(parts, fmt.Sprintf("%s=%s", id, s.Switched[id]))
	}
	for _, a := range s.Accepted {
		parts = append(parts, fmt.Sprintf("%s/%s=%s", a.Server.ID, a.Name, a.Definition))
	}
	return strings.Join(parts, " ")
}

// has waits until a gateway has a state.
func (g *gateway) has(want string) {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := "nothing"
		if s := g.state.Load(); s != nil {
			got = describe(s)
		}
		if got == want {
			return
		}
		assert.Assert(g.t, time.Now().Before(end), "%q, want %q", got, want)
	}
}

func accepted(id, identity, name, definition string) Accepted {
	return Accepted{Server: pin.Server{ID: id, Name: identity,
		Capabilities: json.RawMessage("{}")}, Kind: mcp.KindTool, Name: name,
		Definition: json.RawMessage(definition)}
}

// What is decided at one gateway, the others follow, also one that starts later, and so does a
// gateway whose store was away.
func TestDecisions(t *testing.T) {
	server := redistest.Start(t)
	onServer := storetest.On(t, server)
	for name, s := range map[string]store.Store{"memory": new(store.Memory), "redis": onServer} {
		t.Run(name, func(t *testing.T) {
			here, there := follow(t, s), follow(t, s)
			here.has("")
			here.Switch("a", true, false)
			there.has("a=disabled")
			there.Switch("b", false, true)
			here.has("a=disabled b=enabled")
			there.Switch("a", false, false)
			here.has("a=as configured b=enabled")
			here.Accept(accepted("a", "A", "t", "1"))
			here.Accept(accepted("a", "A", "u", "1"))
			const switched = "a=as configured b=enabled "
			there.has(switched + "a/t=1 a/u=1")
			follow(t, s).has(switched + "a/t=1 a/u=1")
			there.Accept(accepted("a", "A", "t", "2"))
			here.has(switched + "a/u=1 a/t=2")
			there.Accept(accepted("a", "B", "v", "3")) // which removes the other pins
			here.has(switched + "a/v=3")
			here.Accept(accepted("a", "B", "w", `"`+strings.Repeat("x", maxDefinition)+`"`))
			here.Switch("b", true, true)
			there.has("a=as configured b=disabled a/v=3")
		})
	}
	const before = "a=as configured b=disabled a/v=3"
	here, there := follow(t, onServer), follow(t, onServer)
	here.has(before)
	there.has(before)
	server.Kill()
	eventually.True(t, "the failure is noticed", func() bool {
		here.Switch("c", true, false)
		return here.Failure() != nil
	})
	server.Restart()                                                 // empty
	for _, g := range []*gateway{here, there, follow(t, onServer)} { // one that knows nothing
		g.has("a=as configured b=disabled c=disabled a/v=3")
	}
	eventually.True(t, "the failure ends", func() bool { return here.Failure() == nil })
}

// Two operators who decide at the same time lose nothing, and what they decide is bounded.
func TestBounds(t *testing.T) {
	s := new(store.Memory)
	var all []*gateway
	for range 4 {
		all = append(all, follow(t, s))
	}
	want := ""
	for i := range 40 {
		all[i%4].Switch(fmt.Sprintf("%02d", i), true, false)
		want += fmt.Sprintf("%02d=disabled ", i)
	}
	for _, g := range all {
		g.has(strings.TrimSpace(want))
	}
	var kept []Accepted
	for i := range maxAccepted + 10 {
		kept = appendAccepted(kept, accepted("a", "A", fmt.Sprint(i), "1"))
	}
	assert.Equal(t, len(kept), maxAccepted)
	assert.Equal(t, kept[0].Name, "10")
	for i := range 10 {
		kept = appendAccepted(kept, accepted("a", "A", fmt.Sprint("large ", i),
			strings.Repeat("1", maxDefinition)))
	}
	assert.Equal(t, len(kept), maxBytes/maxDefinition)
	servers := map[string]Switched{"off": Disabled, "on": AsConfigured}
	for i := range maxSwitched - 1 {
		var full bool
		servers, full = change(servers, map[string]Switched{fmt.Sprint(i): Disabled})
		assert.Assert(t, !full)
	}
	assert.Assert(t, servers["on"] == "", "what says least makes room")
	now, full := change(servers, map[string]Switched{"more": Disabled, "off": Enabled})
	assert.Assert(t, full)
	assert.Equal(t, len(now), maxSwitched)
	assert.Equal(t, now["off"], Enabled)
	assert.Equal(t, servers["off"], Disabled, "it is not modified")
}
