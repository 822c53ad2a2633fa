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
	ops "github.com/stdwire/stdwire/internal/ops/host"
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

	// Of the goroutine that applies.
	offered map[string]offering
	off     map[string]bool // servers that are not offered now, and were disabled by hand
	told    []string        // the last time, so that it is told once

	mu       sync.Mutex
	now      *config.Config
	endpoint string
}

// An offering is what a server was configured as, when it was offered.
type offering struct {
	digest   string
	disabled bool
}

func newStanding(m *mounted, g *gateway.Gateway, s *server.Server, std *streams, log *slog.Logger) *standing {
	return &standing{m: m, gateway: g, server: s, std: std, log: log, began: time.Now(), offered: make(map[string]offering), off: make(map[string]bool), endpoint: "stdio"}
}

// start has the user's commands let in, and follows the configuration, until close.
func (st *standing) start(ctx context.Context) {
	c, err := newControl(st.operations(), st.log)
	if err != nil {
		st.std.err.printf("warning: stdwire status and its like do not find this: %v", err)
	}
	st.control = c
	ctx, st.cancel = context.WithCancel(ctx)
	hangup := onHangup(ctx, func() bool {
		return st.std.inTerminal && !terminal.Is(os.Stdin) || st.std.err.terminal && !terminal.Is(os.Stderr)
	})
	files := st.files()
	st.wg.Go(func() { files.run(ctx, hangup, func() { st.reload(ctx) }) })
	if st.pins != nil {
		pins := &fileWatch{paths: []string{st.pins.Path()}, read: os.ReadFile}
		st.wg.Go(func() { pins.run(ctx, nil, st.gateway.Recheck) })
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

func (st *standing) profile(name string) (ids []string, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	servers, err := st.now.Select(name)
	for _, s := range servers {
		ids = append(ids, s.ID)
	}
	return ids, err
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
	for name := range st.now.Profiles {
		about.Profiles = append(about.Profiles, name)
	}
	slices.Sort(about.Profiles)
	return about
}

// files are those that decide what is offered, there or not.
func (st *standing) files() *fileWatch {
	f := &fileWatch{paths: []string{st.m.store.Path}, read: st.m.env.ReadFile}
	for _, found := range st.now.Files {
		f.paths = append(f.paths, found.Path)
	}
	return f
}

// reload applies what is configured now, and has clients hear of all of it at once. If it cannot be used, everything stays as it is.
func (st *standing) reload(ctx context.Context) {
	c, err := st.m.choose(st.m.profile)
	if err != nil {
		st.tell([]string{fmt.Sprintf("warning: the configuration has changed, and cannot be used; the servers stay as they were: %v", err)})
		return
	}
	release := st.server.Hold()
	defer release()
	changes := st.apply(c)
	if changes == "" {
		return
	}
	st.std.err.printf("stdwire: the configuration has changed: %s", changes)
	settling, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	st.gateway.Settle(settling)
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

// apply makes the gateway offer what is configured, and returns what was changed for that, "" for nothing. What is the same is left alone. A server whose configuration has an error stays as it was, and
// is not offered if it was not; nor is one that is not trusted as it is now.
func (st *standing) apply(c *chosen) string {
	var lines []string
	for _, d := range c.diagnostics {
		lines = append(lines, fmt.Sprintf("%v: %v", d.Severity, d))
	}
	var ids []string
	for _, s := range c.servers {
		ids = append(ids, s.ID)
	}
	st.gateway.Order(ids...)
	wanted, stays := map[string]host.Server{}, map[string]bool{}
	var order, replaced, added, gone []string
	for _, s := range c.servers {
		if s.Err != nil {
			stays[s.ID] = true // why was told
			continue
		}
		if err := st.m.store.Check(s); err != nil {
			lines = append(lines, fmt.Sprintf("warning: %v, and not offered: see stdwire trust", err))
			continue
		}
		wanted[s.ID] = st.m.server(s, c.env, st.gateway, st.log)
		order = append(order, s.ID)
	}
	st.tell(lines)
	st.mu.Lock()
	st.now = c.all
	st.mu.Unlock()

	disabled, before := st.disabled(), maps.Clone(st.offered)
	for id, was := range before {
		switch {
		case !disabled[id]:
			delete(st.off, id)
		case !was.disabled:
			st.off[id] = true
		}
		if _, there := wanted[id]; !there && !stays[id] {
			gone = append(gone, id)
		}
	}
	for _, id := range order {
		s := wanted[id]
		was, there := before[id]
		st.offered[id] = offering{s.Digest, s.Disabled}
		enabled := there && was.disabled && !disabled[id] // by hand
		s.Disabled = s.Disabled && !enabled || st.off[id]
		switch {
		case !there:
			added = append(added, id)
		case was.digest != s.Digest || disabled[id] != s.Disabled:
			replaced = append(replaced, id)
		}
		wanted[id] = s
	}
	for _, id := range gone {
		delete(st.offered, id)
	}
	var wg sync.WaitGroup // all at once: each may take a while to end
	for _, id := range gone {
		wg.Go(func() { st.gateway.Remove(id) })
	}
	for _, id := range replaced {
		wg.Go(func() { st.offer(wanted[id]) })
	}
	wg.Wait()
	for _, id := range added {
		st.offer(wanted[id])
	}
	var opened, closed []string
	if st.m.endpoints != nil {
		opened, closed = st.m.endpoints.follow(c.all.Profiles, st.gateway.Offer)
	}
	return summary([]batch{{"new", added}, {"changed", replaced}, {"gone", gone}, {"new profile", opened}, {"gone profile", closed}})
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
