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

	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
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

// describe returns a state as "id=disabled …; name=definition …".
func describe(s *State) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(s.Disabled)) {
		parts = append(parts, fmt.Sprintf("%s=%t", id, s.Disabled[id]))
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
	c := server.Client()
	redistest.Available(t, c)
	onServer, err := store.NewRedis(c, "test:", []byte(strings.Repeat("s", 32)))
	assert.NilError(t, err)
	for name, s := range map[string]store.Store{"memory": new(store.Memory), "redis": onServer} {
		t.Run(name, func(t *testing.T) {
			here, there := follow(t, s), follow(t, s)
			here.has("")
			here.Switch("a", true, false)
			there.has("a=true")
			there.Switch("b", false, true)
			here.has("a=true b=false")
			there.Switch("a", false, false)
			here.has("b=false")
			here.Accept(accepted("a", "A", "t", "1"))
			here.Accept(accepted("a", "A", "u", "1"))
			there.has("b=false a/t=1 a/u=1")
			follow(t, s).has("b=false a/t=1 a/u=1")
			there.Accept(accepted("a", "A", "t", "2"))
			here.has("b=false a/u=1 a/t=2")
			there.Accept(accepted("a", "B", "v", "3")) // which removes the other pins
			here.has("b=false a/v=3")
			here.Accept(accepted("a", "B", "w", `"`+strings.Repeat("x", maxDefinition)+`"`))
			here.Switch("b", true, true)
			there.has("b=true a/v=3")
		})
	}
	here, there := follow(t, onServer), follow(t, onServer)
	here.has("b=true a/v=3")
	there.has("b=true a/v=3")
	server.Kill()
	for end := time.Now().Add(time.Minute); here.Failure() == nil; time.Sleep(time.Millisecond) {
		here.Switch("c", true, false)
		assert.Assert(t, time.Now().Before(end))
	}
	server.Restart() // empty
	there.has("c=true")
	here.has("c=true")
	assert.NilError(t, here.Failure())
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
		want += fmt.Sprintf("%02d=true ", i)
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
	switched := map[string]bool{}
	for i := range maxSwitched {
		assert.Assert(t, !change(&switched, map[string]pendingSwitch{fmt.Sprint(i): {true, false}}))
	}
	assert.Assert(t, change(&switched, map[string]pendingSwitch{"more": {true, false}}))
	assert.Equal(t, len(switched), maxSwitched)
}
