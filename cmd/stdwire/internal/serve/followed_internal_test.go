package serve

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/decision"
	replicas "github.com/stdwire/stdwire/internal/store"
)

// A server is disabled and enabled as the store says, and before it comes. What the store does not
// say changes nothing, nor what it says while it does not know yet what was decided here.
func TestSwitchServers(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	st := &Reloader{Gateway: gateway.Options{Logger: log}.New(nil), log: log,
		current: &config.Config{}, disabledByCommand: map[string]bool{},
		g: Gateway{decisions: decision.New(new(replicas.Memory), log)}}
	defer st.Gateway.Close()
	assert.NilError(t, st.Gateway.Add(gateway.Upstream{Server: host.Server{ID: "here",
		Connect: func(context.Context, string, client.Options) (*client.Client, error) {
			return nil, errors.New("it is not there")
		}}}))
	switched := func(here, coming decision.Switched, wantHere, wantComing bool) {
		t.Helper()
		decided := map[string]decision.Switched{}
		for id, to := range map[string]decision.Switched{"here": here, "coming": coming} {
			if to != "" {
				decided[id] = to
			}
		}
		st.switchServers(decided)
		assert.Equal(t, st.disabled()["here"], wantHere)
		assert.Equal(t, st.disabledByCommand["coming"], wantComing)
		assert.Assert(t, !st.disabledByCommand["here"])
	}
	switched("", "", false, false)
	switched(decision.Disabled, decision.Disabled, true, true)
	switched("", "", true, true) // a store that has lost it
	switched(decision.AsConfigured, decision.Enabled, false, false)
	assert.NilError(t, st.Gateway.Manager().Disable("here")) // as its configuration says now
	switched(decision.AsConfigured, decision.AsConfigured, true, false)
	switched(decision.Enabled, "", false, false)
	st.switched("here", false)
	st.switched("coming", false)
	switched(decision.Disabled, decision.Disabled, false, false)

	st.applying.Lock() // as while a reload waits for servers
	done := make(chan struct{})
	go func() {
		defer close(done)
		st.switchServers(map[string]decision.Switched{"other": decision.Disabled})
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a reload")
	}
	st.applying.Unlock()
	st.switchServers(st.shared.switched)
	assert.Assert(t, st.disabledByCommand["other"])
}
