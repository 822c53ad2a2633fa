package web

import (
	"errors"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// A server with a connection for each user is one server, which is ready if one of them is.
func TestServerOfManySessions(t *testing.T) {
	withheld := []ops.WithheldItem{{Name: "echo"}}
	all := eachOnce([]ops.Status{
		{Server: "a", State: "ready"},
		{Server: "b", Session: "ada", State: "failed", Error: "refused", Memory: 1, Withheld: withheld},
		{Server: "b", Session: "bob", State: "ready", Memory: 2, Uses: 1},
		{Server: "b", Session: "cid", State: "stopped", Memory: 4, Uses: 2},
		{Server: "c", State: "failed", Error: "no such program"}})
	assert.DeepEqual(t, all, []ops.Status{{Server: "a", State: "ready"},
		{Server: "b", Session: "bob", State: "ready", Memory: 7, Uses: 3, Withheld: withheld},
		{Server: "c", State: "failed", Error: "no such program"}})
}

// A gateway that has ended leaves no server that looks as if it ran, and its store as it was.
func TestGatewayHasEnded(t *testing.T) {
	store := &ops.StoreUse{URL: "redis://store.example", Reachable: true}
	g := &watchedGateway{about: answer[ops.About]{latest: ops.About{Store: store}}}
	ready := ops.Status{Server: "files", State: "ready", Uses: 2, Memory: 4 << 20}
	down := ops.Status{Server: "down", State: "waiting", Error: "refused", RetryIn: 9}
	assert.Assert(t, g.described().Problem == nil)
	assert.Equal(t, g.described().Store, store)
	assert.Equal(t, watchedStatus(ready, g.problem()).State, host.Ready)
	assert.Equal(t, watchedStatus(down, g.problem()).Problem.Message, "refused")

	g.err = errors.New("closed the connection")
	for _, s := range []ops.Status{ready, down} {
		one := watchedStatus(s, g.problem())
		assert.Equal(t, one.State, host.Failed, s.Server)
		assert.Assert(t, one.Uses == 0 && one.Memory == 0 && one.RetryAt == 0, "%+v", one)
		assert.Assert(t, cmp.Contains(one.Problem.Message, "closed the connection"))
		assert.Assert(t, one.Problem.Hint != "")
	}
	for _, state := range []host.State{host.Stopped, host.Disabled} { // by somebody before
		one := watchedStatus(ops.Status{Server: "off", State: string(state)}, g.problem())
		assert.Equal(t, one.State, state)
		assert.Assert(t, one.Problem == nil)
	}
	assert.DeepEqual(t, g.described().Problem, g.problem())
	assert.Equal(t, g.described().Store, store)
}

// An answer that another one has overtaken does not replace it: the gateway is asked again.
func TestOvertakenAnswer(t *testing.T) {
	var mu sync.Mutex
	var a answer[string]
	update := func(ask func() (string, error)) {
		t.Helper()
		changed, err := a.update(&mu, ask)
		assert.NilError(t, err)
		assert.Assert(t, changed)
	}
	asked := 0
	update(func() (string, error) {
		if asked++; asked > 1 {
			return "disabled, and heard of", nil
		}
		update(func() (string, error) { return "disabled", nil }) // by the user meanwhile
		return "ready", nil
	})
	assert.Equal(t, a.latest, "disabled, and heard of")
	assert.Equal(t, asked, 2)

	ended := errors.New("closed the connection")
	changed, err := a.update(&mu, func() (string, error) { return "", ended })
	assert.Equal(t, err, ended)
	assert.Assert(t, !changed)
	assert.Equal(t, a.latest, "disabled, and heard of")
}
