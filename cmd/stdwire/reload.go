package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/host/pin"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/internal/terminal"
	"github.com/stdwire/stdwire/server"
)

// A standing is what stdwire serve has a gateway offer: all that is configured, also when that changes.
type standing struct {
	m       *mounted
	gateway *gateway.Gateway
	server  *server.Server
	std     *streams
	log     *slog.Logger
	began   time.Time
	control *control  // nil if there is none
	pins    *pin.Lock // nil for none
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	applying sync.Mutex // by one goroutine at a time
	offered  map[string]offering
	off      map[string]bool // servers that are not offered now, and were disabled by hand
	told     []string        // the last time, so that it is told once
	order    []string        // of the servers

	mu       sync.Mutex
	now      *config.Config
	profiles map[string][]string // that are in effect
	waiting  []ops.Waiting
	watched  []string // files that decide what is offered, there or not
	endpoint string
}

func newStanding(m *mounted, g *gateway.Gateway, s *server.Server, std *streams, log *slog.Logger) *standing {
	return &standing{m: m, gateway: g, server: s, std: std, log: log, began: time.Now(), offered: make(map[string]offering), off: make(map[string]bool), endpoint: "stdio"}
}

// start has the user's commands let in, and follows the configuration, until close.
func (st *standing) start(ctx context.Context) {
	operations := st.operations()
	operations.Release, operations.Waiting = st.release, st.allWaiting
	c, err := newControl(operations, st.log)
	if err != nil {
		st.std.err.printf("warning: stdwire status and its like do not find this: %v", err)
	}
	st.control = c
	ctx, st.cancel = context.WithCancel(ctx)
	hangup := onHangup(ctx, func() bool {
		return st.std.inTerminal && !terminal.Is(os.Stdin) || st.std.err.terminal && !terminal.Is(os.Stderr)
	})
	files := &fileWatch{paths: st.files, read: st.m.env.ReadFile}
	st.wg.Go(func() {
		files.run(ctx, hangup, func(asked bool) {
			rotated := asked && st.m.rotateAudit(st.log)
			_ = st.reload(ctx, release{all: asked && !rotated}) // which was told
		})
	})
	if st.pins != nil {
		path := st.pins.Path()
		pins := &fileWatch{paths: func() []string { return []string{path} }, read: os.ReadFile}
		st.wg.Go(func() { pins.run(ctx, nil, func(bool) { st.gateway.Recheck() }) })
	}
}

// close ends what start began, and the gateway.
func (st *standing) close() {
	if st.cancel != nil {
		st.cancel()
	}
	if st.control != nil {
		st.control.close()
	}
	st.wg.Wait()
	st.gateway.Close()
}

// reachedAt notes where clients find it.
func (st *standing) reachedAt(endpoint string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.endpoint = endpoint
}

// operations are what the operations that look after servers are about.
func (st *standing) operations() ops.Options {
	return ops.Options{Manager: st.gateway.Manager(), Tools: st.gateway.Tools, Withheld: st.withheld, Profile: st.profile, About: st.about}
}

func (st *standing) profile(name string) ([]string, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	ids, ok := st.profiles[name]
	if !ok {
		return nil, &config.UnknownError{What: "profile", Name: name}
	}
	return ids, nil
}

func (st *standing) about() ops.About {
	st.mu.Lock()
	defer st.mu.Unlock()
	about := ops.About{Pid: os.Getpid(), Version: version(), Since: st.began.UTC().Format(time.RFC3339), Dir: st.m.env.Dir, Endpoint: st.endpoint, Files: []string{}, Profiles: []string{}}
	for _, f := range st.now.Files {
		if f.State == config.Used {
			about.Files = append(about.Files, f.Path)
		}
	}
	about.Profiles = append(about.Profiles, slices.Sorted(maps.Keys(st.profiles))...)
	for _, w := range st.waiting {
		w.Definition = ""
		about.Waiting = append(about.Waiting, w)
	}
	return about
}

// files are those that decide what is offered, there or not.
func (st *standing) files() []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.watched
}

// reload applies what is configured now, and has clients hear of all of it at once. What that gives
// beyond what the operator has let in waits, unless by lets it in. If the configuration cannot be
// used, everything stays as it is, and the error says why.
func (st *standing) reload(ctx context.Context, by release) error {
	st.applying.Lock()
	defer st.applying.Unlock()
	c, err := st.m.choose(st.m.profile)
	if err != nil {
		st.tell([]string{fmt.Sprintf("warning: the configuration has changed, and cannot be used; the servers stay as they were: %v", err)})
		return err
	}
	announce := st.server.Integration().DeferListChanged()
	defer announce()
	changes := st.apply(c, by)
	if changes == "" {
		return nil
	}
	st.std.err.printf("stdwire: the configuration has changed: %s", changes)
	settling, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	st.gateway.Settle(settling)
	return nil
}

// tell prints those of the lines that were not among them the last time.
func (st *standing) tell(lines []string) {
	for _, line := range lines {
		if !slices.Contains(st.told, line) {
			st.std.err.printf("%s", line)
		}
	}
	st.told = lines
}

// apply makes the gateway offer what is configured, as far as the operator has let it in or by
// does, and returns what was changed for that, "" for nothing. What is the same is left alone. A
// server whose configuration has an error stays as it was, and is not offered if it was not; nor is
// one that is not trusted as it is now.
func (st *standing) apply(c *chosen, by release) string {
	var lines []string
	for _, d := range c.diagnostics {
		lines = append(lines, fmt.Sprintf("%v: %v", d.Severity, d))
	}
	wanted, stays := map[string]offering{}, map[string]bool{}
	var order, replaced, added, gone []string
	var waiting []ops.Waiting
	for _, s := range c.servers {
		if s.Err != nil {
			stays[s.ID] = true // why was told
			continue
		}
		if err := st.m.store.Check(s); err != nil {
			what := "offered"
			if was, there := st.offered[s.ID]; there && !was.definition.Project { // a file that nobody trusts does not end it
				what, stays[s.ID] = "used in place of your own", true
			}
			lines = append(lines, fmt.Sprintf("warning: %v, and not %s: see stdwire trust", err, what))
			waiting = append(waiting, waitingServer(s, waitsForTrust))
			continue
		}
		o, why := st.admit(s, c.env, by)
		if why != "" {
			waiting = append(waiting, waitingServer(s, why))
		}
		if o.server.ID == "" {
			continue
		}
		if err := st.m.refuseProgram(o); err != nil {
			lines = append(lines, fmt.Sprintf("warning: server %q is not offered: %s", s.ID, withRemedy(err)))
			continue
		}
		wanted[s.ID] = o
		order = append(order, s.ID)
	}
	profiles, more := st.admitProfiles(c.all, by)
	waiting = append(waiting, more...)
	if !st.arrange(c.servers, by) {
		waiting = append(waiting, ops.Waiting{Kind: ops.WaitingOrder, Why: waitsAsChanged, Source: c.servers[0].Position.String()})
	}
	for _, w := range waiting {
		if w.Why != waitsForTrust || w.Kind == ops.WaitingProfile {
			lines = append(lines, "warning: "+waitingText(w))
		}
	}
	st.note(c, profiles, waiting, wanted) // first, so that whoever was told finds it
	st.tell(lines)

	disabled, before := st.disabled(), maps.Clone(st.offered)
	for id, was := range before {
		switch {
		case !disabled[id]:
			delete(st.off, id)
		case !was.definition.Disabled:
			st.off[id] = true
		}
		if _, there := wanted[id]; !there && !stays[id] {
			gone = append(gone, id)
		}
	}
	for _, id := range order {
		o := wanted[id]
		was, there := before[id]
		st.offered[id] = o
		enabled := there && was.definition.Disabled && !disabled[id] // by hand
		o.server.Disabled = o.server.Disabled && !enabled || st.off[id]
		switch {
		case !there:
			added = append(added, id)
		case was.server.Digest != o.server.Digest || !was.resolved.same(o.resolved) || disabled[id] != o.server.Disabled:
			replaced = append(replaced, id)
		}
		wanted[id] = o
	}
	for _, id := range gone {
		delete(st.offered, id)
	}
	var wg sync.WaitGroup // all at once: each may take a while to end
	for _, id := range gone {
		wg.Go(func() { st.gateway.Remove(id) })
	}
	for _, id := range replaced {
		wg.Go(func() { st.offer(wanted[id].server) })
	}
	wg.Wait()
	for _, id := range added {
		st.offer(wanted[id].server)
	}
	var opened, closed []string
	if st.m.endpoints != nil {
		opened, closed = st.m.endpoints.follow(profiles, st.gateway.Offer)
	}
	return summary([]batch{{"new", added}, {"changed", replaced}, {"gone", gone}, {"new profile", opened}, {"gone profile", closed}})
}

// arrange sets the order of the servers, by which names belong to the first of several that have
// them. A file that changes does not by itself change the order of those that are offered: one
// would get what is another's. It reports whether the order is as configured.
func (st *standing) arrange(configured []*config.Server, by release) bool {
	var order []string
	for _, s := range configured {
		order = append(order, s.ID)
	}
	isNew := func(id string) bool { _, offered := st.offered[id]; return !offered }
	now := slices.DeleteFunc(slices.Clone(order), isNew)
	before := slices.DeleteFunc(slices.Clone(st.order), func(id string) bool { return isNew(id) || !slices.Contains(now, id) })
	same := by.all || slices.Equal(now, before)
	if !same {
		order = append(before, slices.DeleteFunc(order, func(id string) bool { return slices.Contains(before, id) })...)
	}
	st.order = order
	st.gateway.Order(order...)
	return same
}

// offer adds a server to the gateway.
func (st *standing) offer(s host.Server) {
	if err := st.gateway.Add(s); err != nil && !errors.Is(err, host.ErrClosed) {
		st.std.err.printf("warning: %v", err)
	}
}

// disabled are the servers that are.
func (st *standing) disabled() map[string]bool {
	all := map[string]bool{}
	for _, s := range st.gateway.Manager().Status() {
		if s.State == host.Disabled {
			all[s.ID] = true
		}
	}
	return all
}

// A batch is what has become of some servers.
type batch struct {
	what string
	ids  []string
}

// summary says what has changed: "new files, db; gone web".
func summary(changes []batch) string {
	var parts []string
	for _, c := range changes {
		if len(c.ids) > 0 {
			slices.Sort(c.ids)
			parts = append(parts, c.what+" "+strings.Join(c.ids, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
