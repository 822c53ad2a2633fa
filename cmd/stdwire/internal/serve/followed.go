package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/decision"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A followed is what this gateway has done of what operators have decided at gateways with the same
// store.
type followed struct {
	state atomic.Pointer[decision.State] // the last one

	sharing  sync.Mutex
	withheld map[pinned]string // with their pins when that was noticed; guarded by sharing

	// After recallDecisions, only of the goroutine that follows.
	disabled map[string]bool
	pinned   []bool // by the index of Accepted of the state
	pins     *pin.File
}

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
			for id, disabled := range decided.Disabled {
				if disabled {
					st.disabledByCommand[id] = true
				}
			}
			st.shared.disabled = decided.Disabled
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

// shareAccepted tells the other gateways which definition was accepted here.
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

// share tells the other gateways of an accepted definition that they do not know.
func (st *Reloader) share(identity pin.Server, kind mcp.Kind, name string,
	definition json.RawMessage) {
	identity.Source = ""
	a := decision.Accepted{Server: identity, Kind: kind, Name: name, Definition: definition}
	if s := st.shared.state.Load(); s == nil || !s.Has(&a) {
		st.g.decisions.Accept(a)
	}
}

// shareAcceptedInFile tells the other gateways which definitions somebody else has accepted in the
// file of pins: those that were withheld here, and that have other pins now.
func (st *Reloader) shareAcceptedInFile() {
	f := &st.shared
	f.sharing.Lock()
	defer f.sharing.Unlock()
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

// applyDecisions does what was decided at other gateways. It is called again and again.
func (st *Reloader) applyDecisions(decided *decision.State) {
	st.switchServers(decided.Disabled)
	if st.pinFile != "" {
		st.pinAccepted(decided)
		st.shareAcceptedInFile()
	}
}

// switchServers disables and enables servers as the store says. A server of which it says nothing
// any more is as its configuration says.
func (st *Reloader) switchServers(decided map[string]bool) {
	wanted := map[string]bool{}
	for id, disabled := range st.shared.disabled {
		if _, still := decided[id]; still || !disabled {
			continue
		}
		st.applying.Lock()
		delete(st.disabledByCommand, id) // also if the server is not here yet
		st.applying.Unlock()
		if !st.isConfiguredDisabled(id) {
			wanted[id] = false
		}
	}
	for id, disabled := range decided {
		wanted[id] = disabled
	}
	st.shared.disabled = decided
	if len(wanted) == 0 {
		return
	}
	now := st.disabled()
	var all sync.WaitGroup // a server may take seconds to exit
	for _, id := range st.Gateway.Manager().IDs() {
		disable, decided := wanted[id]
		if !decided || disable == now[id] {
			continue
		}
		do, done := st.Gateway.Manager().Enable, "enabled"
		if disable {
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

// pinAccepted pins what was accepted at other gateways. A definition of a server that has no pins
// yet waits for its first use, which pins what the server has, and then counts more than that.
func (st *Reloader) pinAccepted(decided *decision.State) {
	f := &st.shared
	if f.state.Swap(decided) != decided {
		if f.pinned = make([]bool, len(decided.Accepted)); f.pins == nil {
			f.pins = pin.New(st.pinFile)
		}
	}
	changed := false
	for i, a := range decided.Accepted {
		s := a.Server
		s.Source = st.source(s.ID)
		if f.pinned[i] || !st.hasServer(s.ID) {
			continue
		}
		definitions := []json.RawMessage{a.Definition}
		report, err := f.pins.Compare(s, a.Kind, definitions)
		switch {
		case err == nil && report.First:
			continue
		case err == nil && report.Verdicts[0].Usable():
			f.pinned[i] = true // it is so also if another process has written the file meanwhile
			continue
		case err == nil:
			err = f.pins.Accept(s, a.Kind, definitions)
		}
		if err != nil {
			st.log.Warn("gateway: a definition that was accepted at another gateway cannot be pinned",
				slog.String("server", s.ID), slog.String(string(a.Kind), a.Name),
				slog.Any("error", err))
			continue
		}
		changed = true
		st.log.Info("gateway: "+string(a.Kind)+" accepted", slog.String(string(a.Kind), a.Name),
			slog.String("of", s.ID), slog.String("by", "store"))
	}
	if changed {
		st.Gateway.Recheck()
	}
}

func (st *Reloader) hasServer(id string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	_, err := st.current.Server(id)
	return err == nil
}
