// Package access applies rules about who may do what, of internal/policy, to the servers of stdwire
// serve: to what clients see, to the calls of a gateway, and to the built-in operations.
package access

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
)

// Own is the server that rules name for the built-in operations and skills.
const Own = "stdwire"

// Rules apply a policy, which may be replaced at any time. Without one everything is allowed. They
// are safe for concurrent use.
type Rules struct {
	// DryRun lets everything pass, and logs what would be denied, hidden or asked.
	DryRun  bool
	log     *slog.Logger
	policy  atomic.Pointer[policy.Policy] // in effect
	gateway atomic.Pointer[gateway.Gateway]
	risks   risks

	mu       sync.Mutex
	accepted *policy.Policy   // what the operator has accepted, less what changes have taken away
	waiting  []*policy.Policy // changes since, which have taken something away as well
	latest   []ops.Refusal    // the latest first
}

// New returns rules without a policy.
func New(dryRun bool, log *slog.Logger) *Rules {
	return &Rules{DryRun: dryRun, log: lograte.Logger(log)}
}

// maxWaiting limits the changes whose restrictions are remembered until one is accepted.
const maxWaiting = 8

// Set replaces the policy, and reports whether that which is in effect differs. One that may permit
// more than the operator has accepted before, and that he does not accept now, waits: until then,
// only what both permit is permitted, and so it is with the next ones, which may not give back what
// a change has taken away while it waited. Of very many changes the last ones count.
func (r *Rules) Set(p *policy.Policy, accepted bool) (changed, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = slices.DeleteFunc(r.waiting, func(before *policy.Policy) bool {
		return accepted || p.OnlyRestricts(before)
	})
	restricts := accepted || p.OnlyRestricts(r.accepted)
	if restricts {
		r.accepted = p
	}
	now := p
	if waits = !restricts || len(r.waiting) > 0; waits {
		now = p.Within(append([]*policy.Policy{r.accepted}, r.waiting...)...)
	}
	if !restricts {
		r.waiting = append(r.waiting, p)
		r.waiting = r.waiting[max(0, len(r.waiting)-maxWaiting):]
	}
	return !now.Same(r.policy.Swap(now)), waits
}

// SetGateway sets the gateway whose tools are operations of the HTTP API.
func (r *Rules) SetGateway(g *gateway.Gateway) { r.gateway.Store(g) }

type profileKey struct{}

// Profile returns middleware that says which profile the clients of a server use.
func Profile(name string) rpc.Middleware {
	return func(next rpc.Handler) rpc.Handler {
		if name == "" {
			return next
		}
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			return next(context.WithValue(ctx, profileKey{}, name), req)
		}
	}
}

// InProfile is [Profile] for a handler of HTTP.
func InProfile(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), profileKey{}, name)))
	})
}

// Caller returns the caller of a request.
func Caller(ctx context.Context) *policy.Caller {
	c := new(policy.Caller)
	c.Profile, _ = ctx.Value(profileKey{}).(string)
	if id := auth.IdentityFrom(ctx); id != nil {
		c.Known, c.Issuer, c.Subject, c.ClientID = true, id.Issuer, id.Subject, id.ClientID
		c.Groups, c.Scopes, c.Claims = id.Groups, id.Scopes, id.Claims
	}
	return c
}

// Visible returns the function for the options of a server with a catalog, whose clients use a
// profile. of returns the server, which is made with it.
func (r *Rules) Visible(of func() *server.Server, catalog *dispatch.Catalog,
	profile string) func(ctx context.Context, kind mcp.Kind, key string) bool {
	return func(ctx context.Context, kind mcp.Kind, key string) bool {
		p := r.policy.Load()
		if p == nil {
			return true
		}
		o, ok := of().Integration().Origin(ctx, kind, key)
		if !ok {
			return true // nothing is there, or not yet
		}
		caller := Caller(ctx)
		caller.Profile = profile // also where no request has passed the middleware
		if kind == mcp.KindTool && o.Server == "" && o.Operation == nil {
			return r.showsOwnTool(p, caller, catalog, key)
		}
		item := r.itemOf(kind, key, &o)
		if item.Server == Own && kind != mcp.KindTool && !r.DryRun &&
			p.Shows(caller, item).Effect == policy.Ask {
			return false // nothing asks before its own skills are read
		}
		return r.shows(ctx, p, caller, item)
	}
}

// shows reports whether a caller sees an item.
func (r *Rules) shows(ctx context.Context, p *policy.Policy, caller *policy.Caller,
	item policy.Item) bool {
	d := p.Shows(caller, item)
	if r.DryRun && d.Effect == policy.Deny {
		r.report(ctx, "the policy would hide this", item, &d)
		return true
	}
	return d.Effect != policy.Deny
}

// showsOwnTool reports whether a caller sees a tool of the program that is no operation: one that
// calls the operations of a service if he sees one of these. The others only help with what he
// sees.
func (r *Rules) showsOwnTool(p *policy.Policy, caller *policy.Caller, catalog *dispatch.Catalog,
	name string) bool {
	operations := operationsOf(catalog, name)
	for _, op := range operations {
		if r.DryRun || p.Shows(caller, itemOfOperation(op)).Effect != policy.Deny {
			return true
		}
	}
	return len(operations) == 0
}

// OperationVisible reports whether a caller of the HTTP API sees an operation.
func (r *Rules) OperationVisible(ctx context.Context, op *dispatch.Operation) bool {
	if g := r.gateway.Load(); g != nil && !g.OffersOperation(ctx, op.Name()) {
		return false // another user has it
	}
	p := r.policy.Load()
	return p == nil || r.shows(ctx, p, Caller(ctx), r.itemOfAny(ctx, op))
}

// Operations returns an interceptor of a dispatcher: it decides the calls of the built-in
// operations, those of the catalog own, even while a server has a tool of that name. Those of a
// gateway's servers are decided by Calls.
func (r *Rules) Operations(own *dispatch.Catalog) dispatch.Interceptor {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			p, op := r.policy.Load(), i.Operation
			if p == nil || op == nil {
				return next(ctx, i)
			}
			_, builtin := own.Lookup(op.Name())
			if g := r.gateway.Load(); g != nil && !builtin {
				if _, ok := g.Operation(ctx, op.Name()); ok {
					return next(ctx, i)
				}
			}
			if err := r.decide(ctx, p, itemOfOperation(op), i); err != nil {
				return nil, operationError(err)
			}
			return next(ctx, i)
		}
	}
}

// Calls is an interceptor of a gateway: it decides the calls of its servers.
func (r *Rules) Calls(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		p := r.policy.Load()
		if p == nil || i.InFlight { // decided when it was sent
			return next(ctx, i)
		}
		o := server.Origin{Server: i.Server, Name: i.Name, Definition: i.Definition}
		if err := r.decide(ctx, p, r.itemOf(mcp.Kind(i.Kind), i.Name, &o), i); err != nil {
			return nil, err
		}
		return next(ctx, i)
	}
}

// Login returns a function like gateway.Upstream.Login that asks nobody to log in who uses what the
// rules hide from him, whatever its hints are, which are not known before.
func (r *Rules) Login(id string, login func(context.Context) askLogin) func(
	context.Context) askLogin {
	return func(ctx context.Context) askLogin {
		ask := login(ctx)
		if ask == nil {
			return nil
		}
		return func(ctx context.Context, kind mcp.Kind, name string) (json.RawMessage, error) {
			item := r.itemOf(kind, name, &server.Origin{Server: id, Name: name})
			if kind == mcp.KindTool {
				item.Risk, item.Open = policy.Read, false
			}
			if p := r.policy.Load(); p != nil && !r.shows(ctx, p, Caller(ctx), item) {
				return nil, dispatch.NotFound
			}
			return ask(ctx, kind, name)
		}
	}
}

type askLogin = func(ctx context.Context, kind mcp.Kind, name string) (json.RawMessage, error)

// refused records a decision about a call, and logs it.
func (r *Rules) refused(ctx context.Context, message string, item policy.Item,
	d *policy.Decision) {
	r.record(ops.Refusal{At: time.Now().UTC().Format(time.RFC3339), Effect: d.Effect.String(),
		Rule: ruleOf(d), Argument: d.Pointer, Server: item.Server,
		Name:      printable.TruncateBytes(item.Name, maxText),
		Principal: printable.TruncateBytes(dispatch.PrincipalFrom(ctx), maxText),
		Passed:    r.DryRun})
	r.report(ctx, message, item, d)
}

// report logs a decision for the operator, with the rule, which callers do not learn.
func (r *Rules) report(ctx context.Context, message string, item policy.Item, d *policy.Decision) {
	level := slog.LevelInfo
	if r.DryRun {
		level = slog.LevelWarn
	}
	r.log.Log(ctx, level, message, slog.String("effect", d.Effect.String()),
		slog.String("rule", ruleOf(d)), slog.String("argument", d.Pointer),
		slog.String("server", item.Server), slog.String("name", item.Name),
		slog.String("principal", dispatch.PrincipalFrom(ctx)))
}

func ruleOf(d *policy.Decision) string {
	if d.Rule == nil {
		return "the default"
	}
	return d.Rule.Source
}

const (
	maxLatest = 30  // refusals that are kept for the operator
	maxOfOne  = 10  // of these, of one principal
	maxText   = 200 // bytes of a name in one
)

// record keeps a refusal. Of those that only differ in their time it keeps the latest, so that a
// caller who repeats a call displaces no other.
func (r *Rules) record(refusal ops.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = slices.DeleteFunc(r.latest, func(earlier ops.Refusal) bool {
		earlier.At = refusal.At
		return earlier == refusal
	})
	r.latest = slices.Insert(r.latest, 0, refusal)
	ofOne := 0
	r.latest = slices.DeleteFunc(r.latest, func(kept ops.Refusal) bool {
		if kept.Principal == refusal.Principal {
			ofOne++
		}
		return kept.Principal == refusal.Principal && ofOne > maxOfOne
	})
	r.latest = r.latest[:min(len(r.latest), maxLatest)]
}

// Latest returns decisions that refused a call, or asked the user first, the latest first.
func (r *Rules) Latest() []ops.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.latest)
}
