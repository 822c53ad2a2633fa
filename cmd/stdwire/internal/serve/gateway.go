package serve

import (
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/decision"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hook"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/messagewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/rates"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/resultstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/sharedstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// A Gateway is what a gateway of configured servers is started with.
type Gateway struct {
	*GatewayConfig
	Server  *server.Server    // offers what the servers offer
	Catalog *dispatch.Catalog // the operations that manage servers are added to it
	Std     *term.Streams
	Log     *slog.Logger

	// Operations is a catalog to which these operations and the tools of the servers are added. It
	// may be nil.
	Operations *dispatch.Catalog
	Endpoints  *transport.Endpoints // of the profiles; may be nil
	// Writable are the directories in which clients may write files. It is nil if they may also run
	// any program.
	Writable target.WritableRoots
	Limits   config.Limits          // in effect
	Messages *messagewatch.Messages // for host.messages; may be nil
	Recorder *observe.Recorder      // may be nil
	// PolicyFile is a file of rules beside those of the configuration; "": none.
	PolicyFile string
	// Rules decide the calls of the servers; nil: new ones, which no server asks what it may show.
	Rules *access.Rules
	// Rates limit what clients call. If it is nil, Start makes them if some are configured, which
	// then are not for operations.
	Rates *rates.Rates
	// Logins are those of the users; nil if none can log in. Start and Close are the Reloader's.
	Logins *login.Logins

	// These are of the gateways that share a store, and nil without one.
	store     *sharedstore.Store
	decisions *decision.Decisions
	results   *resultstore.Store

	views *toolViews
	above string // set by Start: the value of [aboveVariable] for the servers
}

// limit applies the limits to the options of the server.
func (g *Gateway) limit(o *server.Options) {
	o.MaxSubscriptions, o.MaxWatched = g.Limits.MaxSubscriptions, g.Limits.MaxWatched
	if most := g.Limits.MaxMemory; most > 0 {
		o.Memory = dispatch.NewBudget(int64(most))
	}
}

// Start makes a gateway offer the configured servers. A server that cannot be offered is reported
// on stderr and does not affect the others.
func (g Gateway) Start() (*Reloader, error) {
	c, err := g.Select(g.Profile)
	if err != nil {
		return nil, err
	}
	if g.above, err = nest(c.All, g.Profile); err != nil {
		return nil, err
	}
	if g.Rules == nil {
		g.Rules = access.New(false, g.Log)
	}
	rules, err := access.Load(g.PolicyFile, c.All)
	if err != nil {
		return nil, err
	}
	store := config.UserStore(c.Env)
	if err := g.refuseWritable(c, store); err != nil {
		return nil, err
	}
	if g.Rates == nil && c.All.RatesAt != (config.Position{}) {
		g.Rates = rates.New(nil)
	}
	if err := g.hooks.CheckPrograms(); err != nil {
		return nil, err
	}
	audit, err := g.openAudit(g.Log)
	if err != nil {
		return nil, err
	}
	o, err := g.options()
	if err == nil && audit != nil {
		o.Audit = audit
		if o.AuditKey, err = audit.Key(); err != nil {
			err = command.Usagef("--audit: %v", err)
		}
	}
	var hooks *hook.Hooks
	if err == nil && !g.warmLists { // which calls no tool
		hooks, err = g.GatewayConfig.hooks.Start(g.Log)
	}
	if err != nil {
		if audit != nil {
			err = errors.Join(err, audit.Close())
		}
		return nil, err
	}
	if hooks != nil {
		// the rules are about the arguments that the hooks leave
		o.Interceptors = append(hooks.Before, g.Rules.Calls)
		if g.Logins != nil { // whose links are for the user, and not for the hooks
			o.Interceptors = append(o.Interceptors, g.Logins.Calls)
		}
		o.Interceptors = append(o.Interceptors, hooks.After...)
		if g.Rates != nil { // what is refused before costs nothing, and does not wait for its turn
			o.Interceptors = append(o.Interceptors, g.Rates.Servers)
		}
	}
	st := newReloader(g, c, store, o.New(g.Server), o.PinFile, audit)
	st.hooks = hooks
	if g.Logins != nil {
		g.Logins.Start(st.Gateway)
	}
	err = ops.Register(g.Catalog, st.hostOptions())
	if g.Operations != nil { // first: operations have precedence over tools
		err = errors.Join(err, ops.Register(g.Operations, st.hostOptions()))
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if len(c.Servers) == 0 {
		g.Log.Warn("nothing is offered of other servers: " + target.NothingConfigured)
	}
	g.Rules.SetGateway(st.Gateway)
	st.recallDecisions()
	st.apply(c, rules, Acceptance{All: true})
	return st, nil
}

// options returns the options of the gateway, without those of the audit log and the hooks.
func (g *Gateway) options() (o gateway.Options, err error) {
	o = gateway.Options{Logger: g.Log, NoPrefix: g.noPrefix, NoDescriptionPrefix: g.noDescPrefix,
		PinsWarn: g.Pins == "warn", AuditValues: g.auditValues, Catalog: g.Operations,
		CacheDir: target.RememberDir(), ResultDir: target.ResultDir()}
	if g.results != nil {
		o.Results = g.results
	}
	if g.fitResults {
		o.MaxResultText = maxResultText
	}
	if g.Pins == "off" {
		return o, nil
	}
	pins, err := target.OpenPins()
	if err != nil {
		return o, err
	}
	o.PinFile = pins.Path()
	return o, nil
}
