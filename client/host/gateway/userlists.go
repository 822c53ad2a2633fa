package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/uritemplate"
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
	unreviewed map[mcp.Kind][]unreviewedItem
	missing    map[mcp.Kind]bool // lists that the server has not returned
	err        error
	retry      time.Time // when the lists are asked for again, with err

	dropped bool  // guarded by userTable.mu
	counted bool  // in userTable.operations; guarded by userTable.mu
	held    int64 // bytes of userTable.memory; guarded by userTable.mu
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
	catalog *dispatch.Catalog // Options.Catalog; may be nil
	memory  *quota.Pool       // of the lists of all users of the gateway

	mu     sync.Mutex
	byName map[string]*userLists
	// by their names: the operations in Options.Catalog, which stay while a user has them
	operations map[string]*userOperation
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
					t.catalog.Remove(name)
				}
			}
		}
	}
	if l.held > 0 {
		t.memory.Give(l.principal, l.held)
		l.held = 0
	}
}

// drop forgets the lists of a user, if there are any. changed says that he has to be told: then it
// returns his principal.
func (t *userTable) drop(name string, changed bool) (principals map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.byName[name]
	if l == nil || !changed && l.isDone() && l.err != nil { // why he has none is remembered
		return nil
	}
	t.remove(name, l)
	if changed {
		principals = map[string]bool{l.principal: true}
	}
	return principals
}

// clear forgets all lists, and returns the principals of their users, who have to be told.
func (t *userTable) clear() (principals map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	principals = map[string]bool{}
	for name, l := range t.byName {
		t.remove(name, l)
		principals[l.principal] = true
	}
	return principals
}

// withheldItems returns the items that are withheld from a user, each once.
func (t *userTable) withheldItems() (all []WithheldItem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[WithheldItem]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		if l := t.byName[name]; l.isDone() {
			for _, w := range l.withheld {
				w.OfUser = true
				if !seen[w] {
					seen[w] = true
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// haveNamed reports whether a user has had lists from a server with this serverInfo.name.
func (t *userTable) haveNamed(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.byName {
		if l.isDone() && l.client != nil && l.client.ServerInfo().Name == name {
			return true
		}
	}
	return false
}

// unreviewed returns a definition that is withheld from a user because of its pin, and the
// serverInfo.name of who sent it. Of several users' it is the one that equals reviewed, or else the
// first.
func (t *userTable) unreviewed(kind mcp.Kind, name string, reviewed json.RawMessage) (server string,
	text json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, user := range slices.Sorted(maps.Keys(t.byName)) {
		l := t.byName[user]
		if !l.isDone() {
			continue
		}
		for _, i := range l.unreviewed[kind] {
			if i.name != name {
				continue
			}
			if bytes.Equal(i.text, reviewed) {
				return i.server, i.text
			}
			if text == nil {
				server, text = i.server, i.text
			}
		}
	}
	return server, text
}

// A userOperation is a tool of some users that is an operation.
type userOperation struct {
	definition []byte // of the first user; nil: that of another one differs, and it shows neither
	users      int
}

// keep reserves the memory of lists, unless they were dropped meanwhile.
func (t *userTable) keep(l *userLists, bytes int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.dropped {
		return nil // only those who wait for them see them
	}
	if l.held > 0 { // of a first attempt
		t.memory.Give(l.principal, l.held)
		l.held = 0
	}
	if err := t.memory.Take(l.principal, bytes); err != nil {
		return fmt.Errorf("has lists of %d bytes, for which the user has no room: %w", bytes, err)
	}
	l.held = bytes
	return nil
}
