// Package rates limits how often, and how many at a time, callers use what a gateway offers, by the
// rates of a configuration.
//
// A [Rates] has two interceptors: one for the calls of a gateway to its servers, and one for the
// program's own operations. Each call passes one of them, whichever surface it came from and
// whichever tool has called it, and lists pass none. A call first waits for its places, of what is
// limited at a time, and is then charged to all its buckets or to none, so that what is admitted
// over any time is within the rates. It is refunded if it does not reach its server.
package rates

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/retryafter"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server/auth"
)

// Rates are the rates in effect and the state of their buckets. Make them with [New]. The methods
// are safe for concurrent use.
type Rates struct {
	rows    atomic.Pointer[[]*row] // replaced, never modified; nil: there are none
	buckets rate.Limiter
	places  *rate.Places
	shared  *shared // nil: this process does not share its buckets

	pauses atomic.Bool  // a server has asked for a pause
	paused atomic.Int64 // the calls that were refused because of that
	// servers that are called with credentials of each user, whose pauses are for one user
	perUser atomic.Pointer[map[string]bool]

	refusals *telemetry.Counter // may be nil
}

// refusals counts the calls that are refused. Its label is the name of a configured rate, or
// pauseName.
var refusals = telemetry.Instrument{Name: "stdwire.gateway.rate.refusals", Unit: "{call}",
	Description: "Calls that were refused because of a configured rate.", Labels: []string{"rate"}}

// pauseName stands for the pauses that servers ask for. No rate has this name.
const pauseName = "(server)"

// New returns rates of which none is in effect. They are counted by t, which may be nil.
func New(t *telemetry.Telemetry) *Rates {
	return &Rates{places: rate.NewPlaces(), refusals: t.Counter(refusals)}
}

// Set replaces the rates. Those that keep their names keep the states of their buckets.
func (r *Rates) Set(all []config.Rate) {
	before := map[string]*row{}
	for _, old := range r.current() {
		before[old.Name] = old
	}
	var rows []*row
	for _, c := range all {
		rows = append(rows, newRow(c, before[c.Name]))
	}
	if rows == nil {
		r.rows.Store(nil)
		return
	}
	r.rows.Store(&rows)
}

func (r *Rates) current() []*row {
	if rows := r.rows.Load(); rows != nil {
		return *rows
	}
	return nil
}

// Uses returns what each rate has refused, in the order of the configuration, and last what was
// refused because servers had asked for a pause, if anything was.
func (r *Rates) Uses() (all []ops.RateUse) {
	for _, w := range r.current() {
		all = append(all,
			ops.RateUse{Rate: w.Name, Limit: w.limitText(), Refused: w.refused.Load()})
	}
	if n := r.paused.Load(); n > 0 {
		all = append(all, ops.RateUse{Rate: pauseName, Refused: n})
	}
	return all
}

// Servers is an interceptor for the calls of a gateway to its servers.
func (r *Rates) Servers(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		rows := r.current()
		// what was charged when it was sent, and what makes calls that are charged
		if rows == nil || i.InFlight || i.Composite {
			return next(ctx, i)
		}
		sent := new(atomic.Bool)
		u := use{server: i.Server, tool: i.Name, isTool: i.Kind == string(mcp.KindTool)}
		if servers := r.perUser.Load(); servers != nil && (*servers)[i.Server] {
			u.payer = i.Principal
		}
		made, err := r.within(context.WithValue(ctx, contextkey.Sent{}, sent), i, rows, &u, sent,
			next)
		if err != nil {
			r.pause(ctx, &u, err)
		}
		return made, err
	}
}

// Operations returns an interceptor for the operations whose names a catalog has. Others pass it:
// the tools of servers, whose calls pass Servers, and those that only search.
func (r *Rates) Operations(own *dispatch.Catalog) dispatch.Interceptor {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			rows := r.current()
			if rows == nil {
				return next(ctx, i)
			}
			if _, ok := own.Lookup(i.Name); !ok {
				return next(ctx, i)
			}
			return r.within(ctx, i, rows, &use{tool: i.Name, isTool: true}, nil, next)
		}
	}
}

// within makes a call within the rates. sent is set when the call reaches its server; without it,
// every call that is made does.
func (r *Rates) within(ctx context.Context, i *dispatch.Invocation, rows []*row, u *use,
	sent *atomic.Bool, next dispatch.Handler) (dispatch.Result, error) {
	u.principal = i.Principal
	if id := auth.IdentityFrom(ctx); id != nil {
		u.groups = id.Groups
	}
	n := newNeeds()
	n.collect(rows, u, r.pauses.Load() || r.shared != nil)
	if err := r.admit(ctx, &n, u); err != nil {
		return nil, err
	}
	defer func() {
		if len(n.places) > 0 {
			r.places.Give(n.places)
		}
		if sent != nil && !sent.Load() {
			if n.inStore != nil {
				r.shared.refund(ctx, n.inStore)
			} else {
				r.buckets.Refund(n.charges)
			}
		}
	}()
	return next(ctx, i)
}

// admit takes what a call needs, or returns why it is refused.
func (r *Rates) admit(ctx context.Context, n *needs, u *use) error {
	if len(n.places) > 0 {
		// A call that is to be refused is so at once.
		if err := r.check(ctx, n, u, false); err != nil {
			return err
		}
		at, err := r.places.Take(ctx, u.principal, n.places, n.patience)
		switch {
		case errors.Is(err, rate.ErrNoPlace):
			return r.refuse(limited{n.placed[at], placeLimit}, u, retryPlace)
		case err != nil:
			return err
		}
	}
	err := r.check(ctx, n, u, true)
	if err != nil && len(n.places) > 0 {
		r.places.Give(n.places)
	}
	return err
}

// check returns why the buckets refuse a call, or nil, and charges them then if keep is set.
func (r *Rates) check(ctx context.Context, n *needs, u *use, keep bool) error {
	if r.shared == nil || len(n.charges) == 0 {
		return r.checkOwn(n, u, keep)
	}
	if n.charged[0].row == nil { // what the server has told this process needs no store
		if _, wait := r.buckets.Peek(n.charges[:1]); wait > 0 {
			return r.refuse(n.charged[0], u, wait)
		}
	}
	return r.shared.check(ctx, r, n, u, keep)
}

// checkOwn is check with the buckets of this process.
func (r *Rates) checkOwn(n *needs, u *use, keep bool) error {
	var at int
	var wait time.Duration
	if keep {
		at, wait = r.buckets.Take(n.charges)
	} else {
		at, wait = r.buckets.Peek(n.charges)
	}
	return r.verdict(n, at, wait, u)
}

// verdict returns the refusal by the charge at an index, which may be made after a wait, or nil.
func (r *Rates) verdict(n *needs, at int, wait time.Duration, u *use) error {
	if wait > 0 {
		return r.refuse(n.charged[at], u, wait)
	}
	return nil
}

const (
	// defaultPause is how long a server gets no calls that has answered 429 without Retry-After.
	defaultPause = time.Second
	maxPause     = time.Hour
)

// SetPerUser says which servers are called with credentials of each user. The map must not be
// modified afterwards.
func (r *Rates) SetPerUser(servers map[string]bool) { r.perUser.Store(&servers) }

// pause lets a server get no calls as long as it has asked for, if err is its refusal of a call
// because of its rates.
func (r *Rates) pause(ctx context.Context, u *use, err error) {
	refused, ok := errors.AsType[*streamable.StatusError](err)
	if !ok || refused.Status != http.StatusTooManyRequests {
		return
	}
	now := time.Now()
	wait := cmp.Or(retryafter.Parse(refused.Header.Get("Retry-After"), now), defaultPause)
	wait = min(wait, maxPause)
	key := appendPauseKey(nil, u.server, u.payer)
	r.buckets.Close(key, now.Add(wait))
	r.pauses.Store(true)
	if r.shared != nil {
		r.shared.pause(ctx, key, wait)
	}
}
