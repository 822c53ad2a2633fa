package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/auditfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hook"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socketserver"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/internal/terminal"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A Reloader makes a gateway offer the configured servers, and applies changes of the
// configuration.
type Reloader struct {
	g       Gateway
	Gateway *gateway.Gateway
	log     *slog.Logger
	dir     string          // the working directory of the configuration
	store   *config.Store   // of trusted definitions
	pinFile string          // "" if pins are off
	shared  followed        // what operators of other gateways have decided
	audit   *auditfile.File // nil if there is no audit log
	hooks   *hook.Hooks     // nil: none is started
	started time.Time
	control *socketserver.Server // nil if there is none
	clients *socketserver.Server // serves the user who runs the gateway; nil if there is none
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	applying sync.Mutex // held while changes are applied
	accepted map[string]acceptedServer
	// servers that are not offered now and were disabled by a command
	disabledByCommand map[string]bool
	printed           []string        // the last messages, so that each is printed once
	order             []string        // IDs of the servers
	rates             []config.Rate   // in effect
	ratesAt           config.Position // where they are configured, or were

	policy     *policy.Policy // the last one that the configuration has had
	policyGone bool           // it has none any more

	mu           sync.Mutex
	current      *config.Config
	unlisted     string              // why the logins of users could not be listed the last time
	profiles     map[string][]string // in effect
	waiting      []ops.PendingChange
	required     map[string]bool
	invalid      []string // errors of the configuration on disk
	watchedFiles []string // files that decide what is offered, whether they exist or not
	endpoint     string
}

func newReloader(g Gateway, c *target.Selection, store *config.Store, running *gateway.Gateway,
	pinFile string, audit *auditfile.File) *Reloader {
	return &Reloader{g: g, Gateway: running, log: lograte.Logger(g.Log), dir: c.Env.Dir,
		store: store, pinFile: pinFile, audit: audit, current: c.All, started: time.Now(),
		accepted: make(map[string]acceptedServer), disabledByCommand: make(map[string]bool),
		policy: c.All.Policy, endpoint: "stdio",
		shared: followed{withheld: map[pinned]string{}}}
}

// start opens the control socket, follows the configuration until Close, and ends the startup,
// after which announce announces changes of lists.
func (st *Reloader) start(ctx context.Context, starting *startup, announce func()) {
	st.clients = socketserver.ServeOwner(st.g.Server, st.log)
	c, err := socketserver.NewControl(st.operatorOptions(), st.log, st.clients)
	if err != nil {
		st.g.Std.Err.Printf("warning: stdwire status and similar commands cannot reach this gateway: %v", err)
	}
	st.control = c
	ctx, st.cancel = context.WithCancel(ctx)
	st.wg.Go(func() {
		starting.settle(ctx, st.Gateway, st.g.waitLists, announce, st.log)
		// Starting many servers takes more memory than using them. A gateway that is idle would
		// return it minutes later.
		if ctx.Err() == nil {
			debug.FreeOSMemory()
		}
	})
	hangup := onHangup(ctx, st.g.Std)
	files := &filewatch.Watcher{Files: filewatch.At(st.Files), Limit: config.MaxFile}
	st.wg.Go(func() {
		files.Run(ctx, hangup, func(asked bool) {
			// A program that rotates logs moves the file of the audit log before it sends SIGHUP;
			// such a signal accepts no changes.
			rotated := asked && st.audit != nil && st.audit.Rotated()
			_ = st.Reload(ctx, Acceptance{All: asked && !rotated}) // it has reported the error
		})
	})
	if st.g.decisions != nil {
		st.wg.Go(func() { st.g.decisions.Follow(ctx, st.applyDecisions) })
	}
	if st.pinFile != "" {
		file := func() []string { return []string{st.pinFile} }
		pins := &filewatch.Watcher{Files: filewatch.At(file),
			Limit: pin.MaxFile}
		st.wg.Go(func() {
			pins.Run(ctx, nil, func(bool) {
				if st.g.decisions != nil {
					st.pinsChanged()
				}
				st.Gateway.Recheck()
			})
		})
	}
}

// onHangup returns the channel of SIGHUP, unless that means that the terminal has closed.
func onHangup(ctx context.Context, std *term.Streams) <-chan struct{} {
	return command.OnHangup(ctx, func() bool {
		return std.InTerminal && !terminal.Is(os.Stdin) || std.Err.Terminal &&
			!terminal.Is(os.Stderr)
	})
}

// Close stops the goroutines of start, closes the gateway, and returns an error of its audit log.
func (st *Reloader) Close() error {
	st.log.Info("gateway: stopping all servers")
	if st.cancel != nil {
		st.cancel()
	}
	for _, s := range []*socketserver.Server{st.control, st.clients} {
		if s != nil {
			s.Close()
		}
	}
	st.wg.Wait()
	if st.g.Logins != nil {
		st.g.Logins.Close()
	}
	st.Gateway.Close()
	st.hooks.Close()
	if st.audit == nil {
		return nil
	}
	return st.audit.Close()
}

// setEndpoint records the URL at which clients reach the gateway.
func (st *Reloader) setEndpoint(endpoint string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.endpoint = endpoint
}

// Files returns the files that decide what is offered, whether they exist or not.
func (st *Reloader) Files() []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.watchedFiles
}

// Reload applies the current configuration and announces all changes to clients at once. Changes
// that exceed the accepted definitions wait, unless by accepts them. If the configuration is
// unusable, Reload changes nothing and returns the error.
func (st *Reloader) Reload(ctx context.Context, by Acceptance) error {
	st.applying.Lock()
	defer st.applying.Unlock()
	c, err := st.g.Select(st.g.Profile)
	var rules *policy.Policy
	if err == nil {
		gone := c.All.Policy == nil && st.policy != nil
		if gone {
			c.All.Policy = st.policy
		}
		if rules, err = access.Load(st.g.PolicyFile, c.All); err == nil {
			st.policy, st.policyGone = c.All.Policy, gone
		}
	}
	if err != nil {
		st.recordInvalid(err)
		st.printNew([]string{
			fmt.Sprintf("warning: the configuration has changed, and cannot be used; the servers stay unchanged: %v",
				err)})
		return err
	}
	announce := st.g.Server.Integration().DeferListChanged()
	defer announce()
	changes := st.apply(c, rules, by)
	if changes == "" {
		return nil
	}
	st.g.Std.Err.Printf("stdwire: the configuration has changed: %s", changes)
	settleCtx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	st.Gateway.Settle(settleCtx)
	return nil
}

// printNew prints the lines that were not among those of its last call.
func (st *Reloader) printNew(lines []string) {
	for _, line := range lines {
		if !slices.Contains(st.printed, line) {
			st.g.Std.Err.Printf("%s", line)
		}
	}
	st.printed = lines
}

// apply makes the gateway offer the configured servers that the operator has accepted earlier or
// accepts with by. It returns a description of the changes, or "". It leaves a server unchanged if
// its definition has not changed, if its configuration has an error, or if an untrusted definition
// of the project replaces one of the user.
func (st *Reloader) apply(c *target.Selection, rules *policy.Policy, by Acceptance) string {
	var lines []string
	otherRules, gone, waiting := st.applyPolicy(rules, c.All.PolicyAt, by)
	if gone != "" {
		lines = append(lines, gone)
	}
	for _, d := range c.Diagnostics {
		lines = append(lines, fmt.Sprintf("%v: %v", d.Severity, d))
	}
	wanted, kept := map[string]acceptedServer{}, map[string]bool{}
	var order, replaced, added, removed []string
	for _, s := range c.Servers {
		if s.Err != nil {
			kept[s.ID] = true // the diagnostics include the error
			continue
		}
		if s.ID == access.Own {
			lines = append(lines, fmt.Sprintf("warning: server %q is not offered: %s: rules mean "+
				"the gateway's own tools by this id; give the server another one", s.ID, s.Position))
			continue
		}
		if err := st.store.Check(s); err != nil {
			what := "offered"
			if was, there := st.accepted[s.ID]; there && !was.definition.Project {
				// an untrusted file must not stop it
				what, kept[s.ID] = "used instead of your own", true
			}
			lines = append(lines,
				fmt.Sprintf("warning: %v, so it is not %s: see stdwire trust", err, what))
			waiting = append(waiting, waitingServer(s, gatewaytext.WaitsForTrust))
			continue
		}
		o, why := st.checkServer(s, c.Env, by)
		if why != "" {
			waiting = append(waiting, waitingServer(s, why))
		}
		if o.server.ID == "" {
			continue
		}
		if err := st.refuseProgram(o); err != nil {
			lines = append(lines,
				fmt.Sprintf("warning: server %q is not offered: %s", s.ID, withRemedy(err)))
			continue
		}
		wanted[s.ID] = o
		order = append(order, s.ID)
	}
	profiles, more := st.checkProfiles(c.All, by)
	waiting = append(waiting, more...)
	if !st.setOrder(c.Servers, by) {
		waiting = append(waiting,
			ops.PendingChange{Subject: ops.PendingOrder, Why: gatewaytext.WaitsAsChanged,
				Source: c.Servers[0].Position.String()})
	}
	if st.g.Rates == nil && c.All.Rates != nil {
		lines = append(lines,
			"warning: the configuration has rates now; the next start uses them")
	} else if !st.setRates(c.All, by) {
		waiting = append(waiting, ops.PendingChange{Subject: ops.PendingRates,
			Why: gatewaytext.WaitsAsChanged, Source: st.ratesAt.String()})
	}
	for _, w := range waiting {
		if w.Why != gatewaytext.WaitsForTrust || w.Subject == ops.PendingProfile {
			lines = append(lines, "warning: "+gatewaytext.WaitingText(w))
		}
	}
	if c.All.Limits != st.g.Limits {
		lines = append(lines,
			"warning: the limits of the configuration have changed; the next start uses them")
	}
	st.applyDiscover(c.All)
	// before printNew, so that status shows what it prints
	validAgain := st.record(c, profiles, waiting, wanted)
	st.printNew(lines)
	if validAgain {
		st.g.Std.Err.Printf("stdwire: the configuration is valid again")
	}

	disabled, before := st.disabled(), maps.Clone(st.accepted)
	for id, was := range before {
		switch {
		case !disabled[id]:
			delete(st.disabledByCommand, id)
		case !was.definition.Disabled:
			st.disabledByCommand[id] = true
		}
		if _, there := wanted[id]; !there && !kept[id] {
			removed = append(removed, id)
		}
	}
	for _, id := range order {
		o := wanted[id]
		was, there := before[id]
		st.accepted[id] = o
		enabled := there && was.definition.Disabled && !disabled[id] // by a command
		o.server.Disabled = o.server.Disabled && !enabled || st.disabledByCommand[id]
		switch {
		case !there:
			added = append(added, id)
		case was.server.Digest != o.server.Digest || !was.resolved.equal(o.resolved) ||
			disabled[id] != o.server.Disabled:
			replaced = append(replaced, id)
		}
		wanted[id] = o
	}
	for _, id := range removed {
		delete(st.accepted, id)
	}
	st.recordRequired()
	if st.g.Rates != nil {
		perUser := map[string]bool{}
		for id, o := range wanted {
			perUser[id] = o.definition.Credentials != nil
		}
		st.g.Rates.SetPerUser(perUser)
	}
	var wg sync.WaitGroup // concurrently, because a server may take seconds to exit
	for _, id := range removed {
		wg.Go(func() { st.Gateway.Remove(id) })
	}
	for _, id := range replaced {
		wg.Go(func() { st.addServer(wanted[id].server) })
	}
	wg.Wait()
	for _, id := range added {
		st.addServer(wanted[id].server)
	}
	var opened, closed []string
	if st.g.Endpoints != nil {
		opened, closed = st.g.Endpoints.SetProfiles(profiles, st.Gateway.Offer)
	}
	changes := summary([]changedServers{{"new", added}, {"changed", replaced}, {"gone", removed},
		{"new profile", opened}, {"gone profile", closed}})
	if otherRules != "" && changes != "" {
		return otherRules + "; " + changes
	}
	return otherRules + changes
}

// applyDiscover lists tools for clients as the configuration says now, and notifies those for which
// that differs.
func (st *Reloader) applyDiscover(c *config.Config) {
	if st.g.views == nil {
		return
	}
	concerned := st.g.views.use(c)
	if concerned == nil {
		return
	}
	st.g.Std.Err.Printf("stdwire: the configuration has changed: discover")
	servers := []*server.Server{st.g.Server}
	if st.g.Endpoints != nil {
		servers = st.g.Endpoints.Servers()
	}
	for _, s := range servers {
		s.Integration().ListsChanged(func(_, client string) bool { return concerned(client) },
			mcp.KindTool)
	}
}

// setOrder sets the order of the servers. A name that several servers have belongs to the first. A
// change of a file alone does not reorder the offered servers, because a server could then take
// over the name of another. setOrder reports whether the order is as configured.
func (st *Reloader) setOrder(configured []*config.Server, by Acceptance) bool {
	order := target.IDs(configured)
	isNew := func(id string) bool { _, offered := st.accepted[id]; return !offered }
	now := slices.DeleteFunc(slices.Clone(order), isNew)
	before := slices.DeleteFunc(slices.Clone(st.order),
		func(id string) bool { return isNew(id) || !slices.Contains(now, id) })
	same := by.All || slices.Equal(now, before)
	if !same {
		order = append(before, slices.DeleteFunc(order, func(id string) bool {
			return slices.Contains(before, id)
		})...)
	}
	st.order = order
	st.Gateway.Order(order...)
	return same
}

// setRates sets the rates that limit calls. A change of a file alone does not, because it could
// allow more. setRates reports whether they are as configured.
func (st *Reloader) setRates(c *config.Config, by Acceptance) bool {
	if c.RatesAt != (config.Position{}) { // otherwise they are gone
		st.ratesAt = c.RatesAt
	}
	same := reflect.DeepEqual(c.Rates, st.rates)
	if !same && by.All {
		st.rates, same = c.Rates, true
		st.g.Rates.Set(c.Rates)
	}
	return same
}

// addServer adds a server to the gateway.
func (st *Reloader) addServer(s gateway.Upstream) {
	if err := st.Gateway.Add(s); err != nil && !errors.Is(err, host.ErrClosed) {
		st.g.Std.Err.Printf("warning: %v", err)
	}
}

// disabled returns the ids of the disabled servers.
func (st *Reloader) disabled() map[string]bool {
	all := map[string]bool{}
	for _, s := range st.Gateway.Manager().Status() {
		if s.State == host.Disabled {
			all[s.ID] = true
		}
	}
	return all
}

// changedServers are servers that changed in the same way.
type changedServers struct {
	what string
	ids  []string
}

// summary describes changes, as in "new files, db; gone web".
func summary(changes []changedServers) string {
	var parts []string
	for _, c := range changes {
		if len(c.ids) > 0 {
			slices.Sort(c.ids)
			parts = append(parts, c.what+" "+strings.Join(c.ids, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
