package web

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/control"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/traffic"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A watchedGateway is a running gateway whose servers and messages the page shows.
type watchedGateway struct {
	*control.Gateway
	changes *changes.Changes
	traffic *traffic.Traffic
	wg      sync.WaitGroup

	off string // why the page accepts no definitions and revokes no logins; "" if it does

	mu       sync.Mutex
	statuses answer[[]ops.Status]
	about    answer[ops.About]
	err      error // why it cannot be reached any more
}

// An answer is the latest one of a gateway that several goroutines ask. A mutex guards it.
type answer[T any] struct {
	latest T
	n      int // how many there were
}

// update replaces the latest answer by the one that ask returns, and reports whether they differ.
// If there was another one meanwhile, nobody knows which of them is newer: then it asks again.
func (a *answer[T]) update(mu *sync.Mutex, ask func() (T, error)) (changed bool, err error) {
	for {
		mu.Lock()
		before := a.n
		mu.Unlock()
		now, err := ask()
		if err != nil {
			return false, err
		}
		mu.Lock()
		overtaken := a.n != before
		if !overtaken {
			changed = !reflect.DeepEqual(now, a.latest)
			a.latest = now
			a.n++
		}
		mu.Unlock()
		if !overtaken {
			return changed, nil
		}
	}
}

const (
	gatewayWait     = 30 // seconds of a call of host.messages
	gatewayInterval = 2 * time.Second
)

// watch follows the gateway until ctx or the gateway ends.
func (g *watchedGateway) watch(ctx context.Context) {
	g.wg.Go(func() { g.fail(ctx, g.followStatuses(ctx)) })
	g.wg.Go(func() { g.fail(ctx, g.followMessages(ctx)) })
}

func (g *watchedGateway) fail(ctx context.Context, err error) {
	if ctx.Err() == nil {
		g.mu.Lock()
		g.err = err
		g.mu.Unlock()
		g.changes.Add(changes.Servers)
	}
}

// problem says that the gateway cannot be reached any more; nil if it can. The caller holds g.mu.
func (g *watchedGateway) problem() *reply.Problem {
	if g.err == nil {
		return nil
	}
	return &reply.Problem{Code: "unreachable",
		Message: "The gateway has ended or does not answer any more: " + g.err.Error(),
		Hint:    "The menu at the top opens pages of the gateways that run."}
}

// failure returns why the gateway cannot be reached any more, or nil.
func (g *watchedGateway) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *watchedGateway) followStatuses(ctx context.Context) error {
	tick := time.NewTicker(gatewayInterval)
	defer tick.Stop()
	for {
		if err := g.refresh(ctx, "host.status", struct{}{}); err != nil {
			return err
		}
		if err := g.refreshAbout(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refresh runs an operation that returns the states of the servers.
func (g *watchedGateway) refresh(ctx context.Context, operation string, arguments any) error {
	changed, err := g.statuses.update(&g.mu, func() ([]ops.Status, error) {
		var now ops.Statuses
		err := g.Call(ctx, operation, arguments, &now)
		operation, arguments = "host.status", struct{}{} // which can be asked again
		return now.Servers, err
	})
	if changed {
		g.changes.Add(changes.Servers)
	}
	return err
}

// refreshAbout asks what clients get, and what waits for the operator.
func (g *watchedGateway) refreshAbout(ctx context.Context) error {
	changed, err := g.about.update(&g.mu, func() (now ops.About, err error) {
		err = g.Call(ctx, "host.about", struct{}{}, &now)
		return now, err
	})
	if changed {
		g.changes.Add(changes.Servers)
	}
	return err
}

// A gatewayAbout is what the page shows of a gateway besides its servers.
type gatewayAbout struct {
	Clients  []ops.ClientTools   `json:"clients"`
	Costs    []ops.ProfileTools  `json:"costs"`
	Rates    []ops.RateUse       `json:"rates"`
	Refusals []ops.Refusal       `json:"refusals"`
	Waiting  []ops.PendingChange `json:"waiting"` // without definitions, which may have secrets
	Invalid  []string            `json:"invalid"`

	Logins     []ops.UserLogin `json:"logins"`
	LoginsMore int             `json:"logins_more"`

	Store   *ops.StoreUse  `json:"store,omitempty"`   // that it shares with others
	Problem *reply.Problem `json:"problem,omitempty"` // why it cannot be reached any more
}

// described returns the gateway as it described itself last.
func (g *watchedGateway) described() gatewayAbout {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.about.latest
	about := gatewayAbout{Clients: now.Clients, Costs: now.Costs, Rates: now.Rates,
		Refusals: now.Refusals, Waiting: slices.Clone(now.Waiting),
		Invalid: now.Invalid, Logins: now.Logins, LoginsMore: now.LoginsMore,
		Store: now.Store, Problem: g.problem()}
	for i := range about.Waiting {
		about.Waiting[i].Definition = ""
	}
	return about
}

func (g *watchedGateway) followMessages(ctx context.Context) error {
	lanes := map[string]*traffic.Connection{}
	for next := int64(0); ; {
		var page ops.MessagesOutput
		if err := g.Call(ctx, "host.messages", ops.MessagesInput{After: next, Wait: gatewayWait},
			&page); err != nil {
			return err
		}
		next = page.Next
		for _, m := range page.Messages {
			record, err := tap.ParseRecord([]byte(m.Record))
			if err != nil {
				return err
			}
			if lanes[m.Lane] == nil {
				lanes[m.Lane] = g.traffic.Connect(m.Lane, time.Now(), []string{m.Lane})
			}
			g.traffic.Add(lanes[m.Lane], record)
		}
	}
}

// server returns the gateway as a server, so that the page can use it as one of its clients.
func (g *watchedGateway) server() *server {
	srv := &server{id: strings.ReplaceAll(g.Name(), " ", "-"), selector: "-- SERVER-COMMAND",
		url: g.Endpoint(), gateway: true, filter: new(host.Filter),
		upstream: gateway.Upstream{Server: host.Server{IdleStop: -1,
			Options: client.Options{Logger: slog.New(slog.DiscardHandler),
				Info: command.Implementation()},
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				return g.Connect(ctx, o)
			}}}}
	if srv.url != "" {
		srv.selector = "--url " + shellwords.Quote(srv.url)
	}
	return srv
}

// eachOnce returns the states of servers, each once. A server with a connection for each user or
// session is in the state of its first one that is ready, and has the sum of their memory and uses.
func eachOnce(all []ops.Status) (list []ops.Status) {
	for _, s := range all {
		last := len(list) - 1
		if last < 0 || list[last].Server != s.Server {
			list = append(list, s)
			continue
		}
		one := &list[last]
		memory, uses, restarts := one.Memory+s.Memory, one.Uses+s.Uses, one.Restarts+s.Restarts
		withheld := one.Withheld // only the first has it
		if one.State != string(host.Ready) && s.State == string(host.Ready) {
			*one = s
		}
		one.Memory, one.Uses, one.Restarts, one.Withheld = memory, uses, restarts, withheld
	}
	return list
}

// list returns the servers as the page shows them.
func (g *watchedGateway) list() []serverStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	list, ended := []serverStatus{}, g.problem()
	for _, s := range eachOnce(g.statuses.latest) {
		status := watchedStatus(s, ended)
		status.Selector = g.Name()
		list = append(list, status)
	}
	return list
}

// watchedStatus returns a server as the page shows it. If its gateway cannot be reached any more,
// which ended says, nothing that the gateway said last of its process is so.
func watchedStatus(s ops.Status, ended *reply.Problem) serverStatus {
	status := serverStatus{ID: s.Server, Watched: true, State: host.State(s.State), Uses: s.Uses,
		Restarts: s.Restarts, Memory: s.Memory, Era: s.Era, Revision: s.Revision, Tools: s.Tools,
		Withheld: s.Withheld}
	if since, err := time.Parse(time.RFC3339, s.Since); err == nil {
		status.Since = since.UnixMilli()
	}
	if ended != nil {
		status.Uses, status.Memory = 0, 0
		if status.State != host.Stopped && status.State != host.Disabled {
			status.State, status.Problem = host.Failed, ended
		}
		return status
	}
	if s.RetryIn > 0 {
		status.RetryAt = time.Now().Add(time.Duration(s.RetryIn) * time.Second).UnixMilli()
	}
	if s.Error != "" {
		status.Problem = &reply.Problem{Code: "unreachable", Message: s.Error}
	}
	return status
}

// do runs an action of the page.
func (g *watchedGateway) do(ctx context.Context, action, id string) error {
	if action == "stop" {
		if err := g.refresh(ctx, "host.disable", ops.Server{Server: id}); err != nil {
			return err
		}
		action = "enable"
	}
	operation := map[string]string{"start": "host.restart", "restart": "host.restart",
		"disable": "host.disable", "enable": "host.enable"}[action]
	if operation == "" {
		return reply.NotFound("action", action)
	}
	return g.refresh(ctx, operation, ops.Server{Server: id})
}

// log returns what the processes of a server have written to stderr.
func (g *watchedGateway) log(ctx context.Context, id string, from int64) (map[string]any, error) {
	var out ops.LogsOutput
	err := g.Call(ctx, "host.logs", ops.LogsInput{Server: id, After: from}, &out)
	return map[string]any{"text": out.Text, "next": out.Next, "missed": out.Missed}, err
}

// decide runs an operation that decides what others may do, unless other machines reach the page.
func (g *watchedGateway) decide(ctx context.Context, operation string, arguments, data any) error {
	if g.off != "" {
		return &command.Failure{Code: "denied", Why: g.off}
	}
	return g.Call(ctx, operation, arguments, data)
}

// routes adds the routes of the definitions that the gateway withholds, and of the logins of its
// users. The receiver is nil if none is watched.
func (g *watchedGateway) routes(mux *http.ServeMux) {
	if g == nil {
		return
	}
	post(mux, "/api/gateway/review", func(r *http.Request, in ops.Withheld) (any, error) {
		return g.review(r.Context(), in)
	})
	post(mux, "/api/gateway/accept", func(r *http.Request, in ops.AcceptedPin) (any, error) {
		return nil, g.decide(r.Context(), "host.accept", in, new(struct{}))
	})
	post(mux, "/api/gateway/revoke", func(r *http.Request, in ops.LoginKey) (any, error) {
		var out ops.Revoked
		err := g.decide(r.Context(), "host.revoke", in, &out)
		if err == nil {
			err = g.refreshAbout(r.Context())
		}
		return out, err
	})
}
