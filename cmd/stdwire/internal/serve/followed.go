package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/decision"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A followed is what this gateway has done of what operators have decided at gateways with the same
// store.
type followed struct {
	// sharing is held while a definition is accepted, pinned or shared, so that what was accepted
	// last is known. It guards what follows.
	sharing  sync.Mutex
	state    *decision.State   // the last one, which is being pinned
	adopted  []adoption        // by the index of Accepted of the state
	tried    time.Time         // when what is not pinned was tried; zero: that has to be done
	withheld map[pinned]string // with their pins when that was noticed

	// After recallDecisions, only of the goroutine that follows.
	switched map[string]decision.Switched
}

// An adoption is what has been done of a definition that was accepted at another gateway.
type adoption struct{ pinned, warned bool }

// adoptEvery is how often it is tried to pin what could not be pinned, for instance because its
// server has not started.
const adoptEvery = 5 * time.Second

// A pinned names an item that has a pin.
type pinned struct {
	server string
	kind   mcp.Kind
	name   string
}

// recallTimeout is how long the start waits for the store, to start no server that is disabled.
const recallTimeout = 2 * time.Second

// recallDecisions lets the servers not be started that are disabled at other gateways.
func (st *Reloader) recallDecisions() {
	if st.g.decisions == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recallTimeout)
	defer cancel()
	for {
		decided, err := st.g.decisions.Read(ctx)
		if err == nil {
			for id, to := range decided.Switched {
				if to == decision.Disabled {
					st.disabledByCommand[id] = true
				}
			}
			st.shared.switched = decided.Switched
			return
		}
		select { // it may still be connecting
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			st.log.Warn("servers that are disabled at other gateways are offered until the store can be used",
				slog.Any("error", err))
			return
		}
	}
}

// switched tells the other gateways that a command has disabled or enabled a server here.
func (st *Reloader) switched(id string, disabled bool) {
	if st.g.decisions != nil {
		st.g.decisions.Switch(id, disabled, st.isConfiguredDisabled(id))
	}
}

func (st *Reloader) isConfiguredDisabled(id string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	s, err := st.current.Server(id)
	return err == nil && s.Disabled
}

// acceptPin accepts a definition for the operator, here and at the other gateways.
func (st *Reloader) acceptPin(in ops.AcceptedPin) error {
	st.shared.sharing.Lock()
	defer st.shared.sharing.Unlock()
	err := st.Gateway.AcceptPin(in.Server, in.Kind, in.Name,
		gateway.PinReview{Now: json.RawMessage(in.Now), Digest: in.SHA256})
	if err == nil {
		st.shareAccepted(in.Server, in.Kind, in.Name)
	}
	return err
}

// shareAccepted tells the other gateways which definition was accepted here. The caller holds
// sharing.
func (st *Reloader) shareAccepted(server string, kind mcp.Kind, name string) {
	if st.g.decisions == nil {
		return
	}
	of := pin.Server{ID: server, Source: st.source(server)}
	identity, definition, err := pin.New(st.pinFile).Pinned(of, kind, name)
	if err != nil {
		st.log.Warn("the other gateways do not know of an accepted definition",
			slog.String("server", server), slog.Any("error", err))
		return
	}
	st.share(identity, kind, name, definition)
}

// share tells the other gateways of an accepted definition that they do not know. The caller holds
// sharing.
func (st *Reloader) share(identity pin.Server, kind mcp.Kind, name string,
	definition json.RawMessage) {
	identity.Source = ""
	a := decision.Accepted{Server: identity, Kind: kind, Name: name, Definition: definition}
	if s := st.shared.state; s == nil || !s.Has(&a) {
		st.g.decisions.Accept(a)
	}
}

// shareAcceptedInFile tells the other gateways which definitions somebody else has accepted in the
// file of pins: those that were withheld here, and that have other pins now. The caller holds
// sharing.
func (st *Reloader) shareAcceptedInFile() {
	f := &st.shared
	now := map[pinned]bool{}
	for id, items := range st.Gateway.Withheld() {
		for _, w := range items {
			now[pinned{id, w.Kind, w.Name}] = true
		}
	}
	if len(now) == 0 && len(f.withheld) == 0 {
		return
	}
	pins := pin.New(st.pinFile)
	for p := range now {
		if _, seen := f.withheld[p]; seen {
			continue
		}
		of, definition, err := st.pinOf(pins, p)
		review, reviewErr := st.Gateway.ReviewPin(p.server, p.kind, p.name)
		if err == nil && reviewErr == nil && review.Identity == "" {
			report, err := pins.Compare(of, p.kind, []json.RawMessage{review.Now})
			if err == nil && report.Verdicts[0].Usable() { // just accepted
				st.share(of, p.kind, p.name, definition)
			}
		}
		f.withheld[p] = textOf(of, definition)
	}
	for p, was := range f.withheld {
		if now[p] {
			continue
		}
		of, definition, err := st.pinOf(pins, p)
		if err == nil && textOf(of, definition) != was {
			st.share(of, p.kind, p.name, definition)
		}
		delete(f.withheld, p)
	}
}

// pinOf returns a pin and the identity of its server.
func (st *Reloader) pinOf(pins *pin.File, p pinned) (of pin.Server, definition json.RawMessage,
	err error) {
	return pins.Pinned(pin.Server{ID: p.server, Source: st.source(p.server)}, p.kind, p.name)
}

// textOf returns a text that changes with a pin and the identity of its server.
func textOf(of pin.Server, definition json.RawMessage) string {
	return of.Name + "\n" + string(of.Capabilities) + "\n" + string(definition)
}

// pinsChanged is called after a change of the file of pins.
func (st *Reloader) pinsChanged() {
	f := &st.shared
	f.sharing.Lock()
	defer f.sharing.Unlock()
	f.tried = time.Time{}
	st.shareAcceptedInFile()
}

// applyDecisions does what was decided at other gateways. It is called again and again.
func (st *Reloader) applyDecisions(decided *decision.State) {
	st.switchServers(decided.Switched)
	if st.pinFile != "" {
		st.shared.sharing.Lock()
		defer st.shared.sharing.Unlock()
		st.pinAccepted(decided)
		st.shareAcceptedInFile()
	}
}

// switchServers disables and enables servers as the store says, unless it does not know yet what
// was decided here.
func (st *Reloader) switchServers(decided map[string]decision.Switched) {
	before := st.shared.switched
	st.shared.switched = decided
	if len(decided) == 0 {
		return
	}
	isDisabled := map[string]bool{}
	for _, s := range st.Gateway.Manager().Status() {
		isDisabled[s.ID] = s.State == host.Disabled
	}
	// Servers that are not here may come, but none while it is locked: then the next call does it.
	if st.applying.TryLock() {
		for id, to := range decided {
			if _, here := isDisabled[id]; here || st.g.decisions.Waits(id) {
				continue
			}
			if to == decision.Disabled {
				st.disabledByCommand[id] = true
			} else {
				delete(st.disabledByCommand, id)
			}
		}
		st.applying.Unlock()
	}
	var all sync.WaitGroup // a server may take seconds to exit
	for id, is := range isDisabled {
		to, decided := decided[id]
		if !decided || st.g.decisions.Waits(id) || (to == decision.Disabled) == is {
			continue
		}
		if to == decision.AsConfigured && (before[id] == to || st.isConfiguredDisabled(id)) {
			continue // the configuration decides
		}
		do, done := st.Gateway.Manager().Enable, "enabled"
		if to == decision.Disabled {
			do, done = st.Gateway.Manager().Disable, "disabled"
		}
		all.Go(func() {
			if do(id) == nil { // else it was removed meanwhile
				st.log.Info("gateway: server "+done, slog.String("server", id),
					slog.String("by", "store"))
			}
		})
	}
	all.Wait()
}

// pinAccepted pins what was accepted at other gateways. What cannot be pinned yet waits: a
// definition of a server whose identity is another one here, and one of a server that has no pins,
// whose first use pins what it has, and then counts less. The caller holds sharing.
func (st *Reloader) pinAccepted(decided *decision.State) {
	f := &st.shared
	if f.state != decided {
		f.state, f.adopted = decided, make([]adoption, len(decided.Accepted))
		f.tried = time.Time{}
	}
	if time.Since(f.tried) < adoptEvery {
		return
	}
	f.tried = time.Now()
	pinnedAny := false
	for i, a := range decided.Accepted {
		if f.adopted[i].pinned || st.g.decisions.IsReplaced(&a) {
			continue // it was pinned, even if somebody has written the file since
		}
		isPinned, changed, err := st.Gateway.AcceptFor(a.Server, a.Kind, a.Definition)
		f.adopted[i].pinned = isPinned
		if err != nil && !f.adopted[i].warned {
			f.adopted[i].warned = true
			st.log.Warn("gateway: a definition that was accepted at another gateway cannot be pinned",
				slog.String("server", a.Server.ID), slog.String(string(a.Kind), a.Name),
				slog.Any("error", err))
		}
		if !changed {
			continue
		}
		pinnedAny = true
		if p := (pinned{a.Server.ID, a.Kind, a.Name}); f.withheld[p] != "" {
			f.withheld[p] = textOf(a.Server, a.Definition) // it was not accepted here
		}
		st.log.Info("gateway: "+string(a.Kind)+" accepted", slog.String(string(a.Kind), a.Name),
			slog.String("of", a.Server.ID), slog.String("by", "store"))
	}
	if pinnedAny {
		st.Gateway.Recheck()
	}
}
