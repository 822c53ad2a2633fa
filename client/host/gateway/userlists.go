package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	maxUserLists = 64 << 20 // bytes of the definitions of all users' lists
	// A definition is kept about twice: as received, and as it is offered.
	copiesOfDefinition = 2
	// maxUsers limits the users of a server whose lists are kept or could not be fetched. Those
	// that are kept are no more than its connections.
	maxUsers = 1000
	// maxFetches limits the lists of a server that are being fetched for one principal, who may
	// have several clients with credentials of their own.
	maxFetches = 64
	// userListWait is how long a request waits for the lists of its user. They are announced if
	// they come later.
	userListWait = 5 * time.Second
	// userListTimeout is the limit of the start of a connection and of its lists.
	userListTimeout = 2 * time.Minute
	// userListRetry is how long lists that cannot be fetched are not asked for again.
	userListRetry = 5 * time.Second
)

var errUserLists = errors.New("has not returned the lists of this user yet: try again later")

// userLists are the lists of a server with host.PerUser as one user sees them, or why they could
// not be fetched. They are those of his connection, and are dropped when it ends or says that a
// list has changed. What follows done is set before done is closed.
type userLists struct {
	principal string
	began     time.Time // when they were asked for
	done      chan struct{}

	client     *client.Client
	items      *server.OwnItems
	offers     map[mcp.Kind]map[string]*offer    // by public name
	operations map[string]*definition.Definition // the tools as operations, by their names
	withheld   []WithheldItem
	missing    map[mcp.Kind]bool // lists that the server has not returned
	err        error
	retry      time.Time // when the lists are asked for again, with err

	dropped bool  // guarded by userTable.mu
	counted bool  // in userTable.operations; guarded by userTable.mu
	held    int64 // bytes of Gateway.userLists; guarded by userTable.mu
}

func (l *userLists) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// isStale reports whether the lists have to be fetched again.
func (l *userLists) isStale() bool {
	switch {
	case !l.isDone():
		return false
	case l.err != nil:
		return !time.Now().Before(l.retry)
	}
	return listfetch.IsDone(l.client)
}

// changed returns the resource of a URI, or a template for it, that is withheld from the user
// because it has changed since its first use. A resource that he sees is never one, whatever its
// templates.
func (l *userLists) changed(own, public string) (w WithheldItem, found bool) {
	if l.offers[mcp.KindResource][public] != nil {
		return w, false
	}
	i := slices.IndexFunc(l.withheld, func(w WithheldItem) bool {
		if w.Reason != ReasonChanged && w.Reason != ReasonIdentity {
			return false
		}
		if w.Kind != mcp.KindResourceTemplate {
			return w.Kind == mcp.KindResource && w.Name == own
		}
		t, err := uritemplate.Parse(w.Name)
		if err != nil {
			return false
		}
		_, matches := t.Match(own)
		return matches
	})
	if i < 0 {
		return w, false
	}
	return l.withheld[i], true
}

// hasScheme reports whether the user sees a resource or template with the scheme of a URI.
func (l *userLists) hasScheme(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	for _, kind := range []mcp.Kind{mcp.KindResource, mcp.KindResourceTemplate} {
		for public := range l.offers[kind] {
			if other, _, _ := strings.Cut(public, ":"); strings.EqualFold(other, scheme) {
				return true
			}
		}
	}
	return false
}

// A userTable has the lists of the users of a server, by the names of Upstream.User.
type userTable struct {
	g      *Gateway
	mu     sync.Mutex
	byName map[string]*userLists
	// by their names: the operations in Options.Catalog, which stay while a user has them
	operations map[string]*userOperation
}

// A userOperation is a tool of some users that is an operation.
type userOperation struct {
	definition []byte // of the first user; nil: that of another one differs, and it shows neither
	users      int
}

// remove forgets lists. The caller holds mu.
func (t *userTable) remove(name string, l *userLists) {
	if t.byName[name] == l {
		delete(t.byName, name)
	}
	l.dropped = true
	if l.counted {
		l.counted = false
		for name := range l.operations {
			if op := t.operations[name]; op != nil {
				if op.users--; op.users == 0 {
					delete(t.operations, name)
					t.g.o.Catalog.Remove(name)
				}
			}
		}
	}
	if l.held > 0 {
		t.g.userLists.Give(l.principal, l.held)
		l.held = 0
	}
}

// drop forgets the lists of a user, if there are any. changed says that he has to be told.
func (t *userTable) drop(name string, changed bool) {
	t.mu.Lock()
	l := t.byName[name]
	if l == nil || !changed && l.isDone() && l.err != nil { // why he has none is remembered
		t.mu.Unlock()
		return
	}
	t.remove(name, l)
	t.mu.Unlock()
	if changed {
		t.announce(l.principal)
	}
}

// clear forgets all lists, and tells their users.
func (t *userTable) clear() {
	principals := map[string]bool{}
	t.mu.Lock()
	for name, l := range t.byName {
		t.remove(name, l)
		principals[l.principal] = true
	}
	t.mu.Unlock()
	for principal := range principals {
		t.announce(principal)
	}
}

// announce tells the clients of a principal that lists have changed.
func (t *userTable) announce(principal string) {
	for _, d := range t.g.allDownstreams() {
		d.server.Integration().ListsChanged(principal)
	}
}

// keep reserves the memory of lists, unless they were dropped meanwhile.
func (t *userTable) keep(l *userLists, bytes int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.dropped {
		return nil // only those who wait for them see them
	}
	if l.held > 0 { // of a first attempt
		t.g.userLists.Give(l.principal, l.held)
		l.held = 0
	}
	if err := t.g.userLists.Take(l.principal, bytes); err != nil {
		return fmt.Errorf("has lists of %d bytes, for which the user has no room: %w", bytes, err)
	}
	l.held = bytes
	return nil
}

// offerOperations offers the tools of a user as operations. If another user has another definition
// of one, the operation shows nothing of either, and its arguments are only checked by the server.
func (u *upstreamServer) offerOperations(l *userLists) {
	t := &u.users
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.dropped || u.g.o.Catalog == nil {
		return
	}
	for name, d := range l.operations {
		op, known := t.operations[name]
		var tool mcp.Tool
		err := mcp.Unmarshal(d.Passed, &tool)
		switch {
		case err != nil:
		case !known:
			op = &userOperation{definition: d.Passed}
			err = u.putOwnOperation(name, d, &tool, tool.InputSchema, false)
			if err != nil {
				err = u.putOwnOperation(name, d, &tool, nil, false)
			}
		case op.definition != nil && !bytes.Equal(op.definition, d.Passed):
			_, own, _ := strings.Cut(name, ".")
			err = u.putOwnOperation(name, d, &mcp.Tool{Name: own}, nil, true)
			if err == nil {
				op.definition = nil
			}
		}
		if err != nil {
			u.warn("a tool of a user is no operation", fmt.Errorf("%s: %w", name, err))
			delete(l.operations, name)
			continue
		}
		op.users++
		t.operations[name] = op
	}
	l.counted = true
}

func (u *upstreamServer) putOwnOperation(name string, d *definition.Definition, tool *mcp.Tool,
	input json.RawMessage, registered bool) error {
	op, err := u.operation(name, d, tool, input)
	switch {
	case err != nil:
		return err
	case registered:
		return u.g.o.Catalog.Replace(op)
	}
	return u.g.o.Catalog.Register(op)
}

// operationFor returns the tool that is an operation for the caller in ctx.
func (u *upstreamServer) operationFor(ctx context.Context,
	name string) (*definition.Definition, error) {
	timer := time.NewTimer(userListWait)
	defer timer.Stop()
	l, err := u.listsFor(ctx, timer.C)
	if err != nil {
		return nil, err
	}
	if d := l.operations[name]; d != nil {
		return d, nil
	}
	return nil, errNoOperation
}

var errNoOperation = dispatch.Errorf(dispatch.NotFound, "There is no operation of that name.")

// OffersOperation reports whether the caller in ctx has an operation of Options.Catalog with this
// name: those of servers with [host.PerUser] are for the users whose lists have them. It may wait
// for these lists until a few seconds after they were first asked for.
func (g *Gateway) OffersOperation(ctx context.Context, name string) bool {
	for _, u := range g.allUpstreams() {
		u.users.mu.Lock()
		_, ok := u.users.operations[name]
		u.users.mu.Unlock()
		if !ok {
			continue
		}
		l, err := u.begin(ctx)
		if err == nil {
			timer := time.NewTimer(time.Until(l.began.Add(userListWait)))
			defer timer.Stop()
			l, err = u.listsFor(ctx, timer.C)
		}
		return err == nil && l.operations[name] != nil
	}
	return true
}

// AwaitCaller waits, a few seconds at most, for what only the caller in ctx has at servers with
// [host.PerUser], so that the operations in Options.Catalog include it.
func (g *Gateway) AwaitCaller(ctx context.Context) {
	g.ownItems(ctx, &downstream{all: true})
}

// withheldItems returns the items that are withheld from a user, each once.
func (t *userTable) withheldItems() (all []WithheldItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		if l := t.byName[name]; l.isDone() {
			for _, w := range l.withheld {
				w.OfUser = true
				if !slices.Contains(all, w) {
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// begin returns the lists of the user of the request in ctx, which it fetches in the background
// unless they are known. It does not block. The error says why the caller cannot use the server.
func (u *upstreamServer) begin(ctx context.Context) (*userLists, error) {
	if u.disabled.Load() {
		return nil, fmt.Errorf("server %q: %w", u.id, host.ErrDisabled)
	}
	name, value, err := u.userOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("server %q %w", u.id, err)
	}
	needsLogin := u.loginOf(ctx) != nil
	t := &u.users
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.byName[name]
	if l != nil && l.isStale() {
		t.remove(name, l)
		l = nil
	}
	switch {
	case l != nil && !(needsLogin && l.isDone() && l.err != nil):
		return l, nil
	case needsLogin:
		return nil, &userError{fmt.Errorf("server %q %w", u.id, errNeedsLogin)}
	}
	return t.start(u, name, value, principal(ctx), false)
}

// start fetches the lists of a user in the background. If announced is true, they are announced to
// his clients even if no request has waited too long for them. The caller holds mu.
func (t *userTable) start(u *upstreamServer, name string, user any, principal string,
	announced bool) (*userLists, error) {
	if len(t.byName) >= maxUsers {
		for other, l := range t.byName {
			if l.isDone() && l.err != nil {
				t.remove(other, l)
			}
		}
	}
	fetched := 0 // now, for the principal, who may have many clients
	for _, l := range t.byName {
		if l.principal == principal && !l.isDone() {
			fetched++
		}
	}
	if len(t.byName) >= maxUsers || fetched >= maxFetches {
		return nil, fmt.Errorf("server %q: %w", u.id, host.ErrTooManySessions)
	}
	l := &userLists{principal: principal, done: make(chan struct{})}
	as := host.WithUser(u.ctx, principal, user)
	if !u.g.background(func() { u.fetchFor(as, name, l, announced) }) {
		return nil, host.ErrClosed
	}
	t.byName[name] = l
	l.began = time.Now()
	return l, nil
}

// listsFor returns the lists of the user of the request in ctx, and waits for them until a timer
// ends. The error says why he has none.
func (u *upstreamServer) listsFor(ctx context.Context, timer <-chan time.Time) (*userLists, error) {
	l, err := u.begin(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
	default:
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer:
			return nil, fmt.Errorf("server %q %w", u.id, errUserLists)
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return l, nil
}

// knownLists is listsFor without waiting; nil: they are not known.
func (u *upstreamServer) knownLists(ctx context.Context) *userLists {
	if l, err := u.begin(ctx); err == nil && l.isDone() && l.err == nil {
		return l
	}
	return nil
}

// perUserServers returns the servers with host.PerUser that d offers, in the order of names.
func (g *Gateway) perUserServers(d *downstream) (some []*upstreamServer) {
	for _, u := range g.allUpstreams() {
		if u.sharing == host.PerUser && d.includes(u.id) {
			some = append(some, u)
		}
	}
	if len(some) > 1 {
		order := g.names.Servers()
		slices.SortFunc(some, func(a, b *upstreamServer) int {
			return slices.Index(order, a.id) - slices.Index(order, b.id)
		})
	}
	return some
}

// ownItems returns what only the caller of the request in ctx sees at d: of each server with
// host.PerUser what his own connection lists, and a tool to log in if he has to. A server that
// cannot be used for him has nothing else. It returns nil if d offers no such server.
func (g *Gateway) ownItems(ctx context.Context, d *downstream) []*server.OwnItems {
	servers := g.perUserServers(d)
	if servers == nil {
		return nil
	}
	for _, u := range servers { // all at the same time
		_, _ = u.begin(ctx)
	}
	sets := []*server.OwnItems{}
	timer := time.NewTimer(userListWait)
	defer timer.Stop()
	over, closed := timer.C, make(chan time.Time)
	close(closed)
	for _, u := range servers {
		l, err := u.listsFor(ctx, over)
		if err == nil {
			sets = append(sets, l.items)
		}
		if u.loginOf(ctx) != nil && !u.disabled.Load() {
			sets = append(sets, u.toLogIn())
		}
		if errors.Is(err, errUserLists) {
			over = closed // the others are not waited for either
		}
	}
	return sets
}

// awaitUserLists waits for the lists of the user of the request in ctx at the wanted servers. If
// any is true, each of them may have what is looked for, and one that cannot be used is not an
// error.
func (g *Gateway) awaitUserLists(ctx context.Context, wanted func(*upstreamServer) bool,
	any bool) error {
	timer := time.NewTimer(maxAwait)
	defer timer.Stop()
	for _, u := range g.allUpstreams() {
		if u.sharing != host.PerUser || !wanted(u) {
			continue
		}
		if _, err := u.listsFor(ctx, timer.C); err != nil && !any {
			return err
		}
	}
	return nil
}

// fetchFor fetches the lists of a user, and announces them if that takes long.
func (u *upstreamServer) fetchFor(ctx context.Context, name string, l *userLists, announced bool) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, userListTimeout)
	defer cancel()
	err := u.g.manager.Use(ctx, u.id, name, true, func(c *client.Client) error {
		l.client = c
		return u.readLists(ctx, c, l)
	})
	if err != nil {
		u.warn("the lists of a user cannot be fetched", err)
		l.err, l.retry = err, time.Now().Add(userListRetry)
	}
	close(l.done)
	if announced || time.Since(began) > userListWait {
		u.users.announce(l.principal)
	}
}

// readLists reads the lists of a user from his connection. The error is that of a server that
// returns no list.
func (u *upstreamServer) readLists(ctx context.Context, c *client.Client, l *userLists) error {
	var (
		failed error
		all    []server.Item
		bytes  int64
		tools  []*definition.Definition
	)
	l.offers, l.withheld, l.operations = map[mcp.Kind]map[string]*offer{}, nil, nil
	l.missing = map[mcp.Kind]bool{}
	// tools last: some depend on the others
	for _, kind := range []mcp.Kind{mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt,
		mcp.KindTool} {
		listed, invalid, err := definition.ParseList(kind,
			c.Integration().Definitions(ctx, kind), u.overrides)
		if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) {
			l.missing[kind], failed = true, err
			continue
		}
		for _, d := range listed {
			bytes += copiesOfDefinition * int64(len(d.Text))
		}
		if kind == mcp.KindTool {
			tools = listed
		}
		u.offerTo(l, kind, c.ServerInfo().Name, listed, invalid)
	}
	if u.asTools != nil && !l.missing[mcp.KindTool] {
		for _, d := range u.toolsFor(tools,
			func(kind mcp.Kind) bool { return len(l.offers[kind]) > 0 }) {
			public := u.publicName(d.Name)
			l.offers[mcp.KindTool][public] = &offer{Definition: d}
		}
	}
	if len(l.missing) == 4 {
		return failed
	}
	if err := u.users.keep(l, bytes); err != nil {
		return fmt.Errorf("server %q %w", u.id, err)
	}
	for kind, offers := range l.offers {
		for public, o := range offers {
			o.public = u.publicDefinition(kind, o.Definition, public)
			all = append(all, u.item(nil, kind, o))
		}
	}
	items, errs := server.NewOwnItems(all)
	for _, err := range errs {
		u.warn("an item of a user is withheld: its definition is invalid", err)
	}
	l.items = items
	u.offerOperations(l)
	return nil
}

// offerTo adds the items of a list to those that a user sees, but for what pins, overrides and
// names of others withhold. Servers whose lists are the same for all have precedence, whatever
// their order, so that no name changes its owner with a user.
func (u *upstreamServer) offerTo(l *userLists, kind mcp.Kind, serverName string,
	listed []*definition.Definition, invalid []definition.Invalid) {
	own, withheld := u.newList(kind), map[string]WithheldItem{}
	for _, d := range invalid {
		withheld[unusablePrefix+d.Own] = WithheldItem{Kind: kind, Name: d.Own,
			Reason: ReasonUnusable, Detail: d.Err.Error()}
	}
	usable := own.withoutRefused(own.admit(serverName, listed, withheld), withheld)
	_, claimed, wanted := own.choose(listed, usable, withheld)
	if own.operations != nil {
		_, _, l.operations = own.operations.choose(listed, usable, map[string]WithheldItem{})
	}
	offers := make(map[string]*offer, len(wanted))
	for public, d := range wanted {
		if own.shared {
			key := nametable.NewKey(kind, public)
			if other, taken := u.g.names.Other(key, u.id); taken {
				withheld[public] = WithheldItem{Kind: kind, Name: claimed[public],
					Reason: ReasonCollision, Detail: other.ID}
				continue
			}
		}
		offers[public] = &offer{Definition: d}
	}
	l.offers[kind] = offers
	for _, w := range withheld {
		l.withheld = append(l.withheld, w)
		u.g.o.Logger.Debug("gateway: an item is withheld from a user",
			slog.String("server", u.id), slog.String("kind", string(kind)),
			slog.String("own_name", w.Name), slog.String("reason", string(w.Reason)),
			slog.String("detail", w.Detail))
	}
}
