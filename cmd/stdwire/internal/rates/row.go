package rates

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/rate"
)

// A row is a rate in effect.
type row struct {
	config.Rate
	per                    scope
	rate, day              rate.Limit
	groups, servers, tools host.Filter
	refused                *atomic.Int64 // of all rates with this name, one after the other
}

// A scope is a set of the words of config.Rate.Per.
type scope byte

const (
	perPrincipal scope = 1 << iota
	perGroup
	perServer
	perTool
)

var scopes = map[string]scope{"principal": perPrincipal, "group": perGroup, "server": perServer,
	"tool": perTool}

// newRow returns a row for a rate. before is the one that had its name, or nil.
func newRow(c config.Rate, before *row) *row {
	w := &row{Rate: c, refused: new(atomic.Int64), groups: host.Filter{Allow: c.Groups},
		servers: host.Filter{Allow: c.Servers}, tools: host.Filter{Allow: c.Tools}}
	if before != nil {
		w.refused = before.refused
	}
	for _, word := range c.Per {
		w.per |= scopes[word]
	}
	w.rate, _ = rate.Per(c.Count, c.Every, c.Burst) // which the configuration has checked
	w.day = rate.Daily(int64(c.Day))
	return w
}

// A use is what a call uses, and who calls.
type use struct {
	principal string
	groups    []string
	server    string // "" for an operation of the program
	payer     string // the principal, if the server is called with credentials of his own
	tool      string // the server's own name
	isTool    bool
}

// concerns reports whether the row is for a use, whoever calls.
func (w *row) concerns(u *use) bool {
	switch {
	case w.Servers != nil && (u.server == "" || !w.servers.Allows(u.server)):
		return false
	case w.Tools != nil || w.per&perTool != 0:
		return u.isTool && w.tools.Allows(u.tool)
	}
	return true
}

// limited is one of the limits of a row.
type limited struct {
	row  *row // nil: the pause of a server
	kind limitKind
}

// A limitKind begins the keys of the limits of its kind.
type limitKind byte

const (
	rateLimit  limitKind = 'r'
	dayLimit   limitKind = 'd'
	placeLimit limitKind = 'p'
	pauseLimit limitKind = 's'

	// storeFailure is that of refusals because the store of the buckets fails.
	storeFailure limitKind = 'f'
)

// limit returns the limit of a bucket.
func (l limited) limit() rate.Limit {
	switch l.kind {
	case rateLimit:
		return l.row.rate
	case dayLimit:
		return l.row.day
	}
	return rate.Limit{}
}

// needs are what a call needs of the rates that concern it. Make them with newNeeds.
type needs struct {
	charges  []rate.Charge
	charged  []limited // what each charge is of
	places   []rate.Place
	placed   []*row
	patience time.Duration // for the places

	inStore []rate.Charge // the charges as they were made in the store; nil: in this process

	key []byte // the keys so far
}

// newNeeds returns needs with room for those of most calls.
func newNeeds() needs {
	return needs{charges: make([]rate.Charge, 0, 4), charged: make([]limited, 0, 4),
		key: make([]byte, 0, 192)}
}

// collect adds what a use needs. pauses says that its server may have asked for a pause.
func (n *needs) collect(rows []*row, u *use, pauses bool) {
	if pauses && u.server != "" {
		n.charges = append(n.charges, rate.Charge{Key: appendPauseKey(nil, u.server, u.payer)})
		n.charged = append(n.charged, limited{nil, pauseLimit})
	}
	for _, w := range rows {
		switch {
		case !w.concerns(u):
		case w.per&perGroup == 0 && w.Groups == nil:
			n.add(w, u, "")
		case w.per&perGroup == 0:
			if slices.ContainsFunc(u.groups, w.groups.Allows) {
				n.add(w, u, "")
			}
		default:
			var seen []string
			for _, group := range u.groups {
				if w.groups.Allows(group) && !slices.Contains(seen, group) {
					seen = append(seen, group)
					n.add(w, u, group)
				}
			}
		}
	}
}

// add adds what a use needs of a row, in the bucket of this group.
func (n *needs) add(w *row, u *use, group string) {
	cost := int64(1)
	if u.isTool {
		cost = int64(costOf(&w.Rate, u.tool))
	}
	for _, l := range [...]struct {
		given bool
		kind  limitKind
		limit rate.Limit
	}{{w.Count > 0, rateLimit, w.rate}, {w.Day > 0, dayLimit, w.day}} {
		if l.given && cost > 0 {
			n.charges = append(n.charges,
				rate.Charge{Key: n.keyOf(l.kind, w, u, group), Limit: l.limit, Cost: cost})
			n.charged = append(n.charged, limited{w, l.kind})
		}
	}
	if w.Concurrent == 0 {
		return
	}
	if len(n.places) == 0 || w.Wait < n.patience {
		n.patience = w.Wait
	}
	n.places = append(n.places,
		rate.Place{Key: n.keyOf(placeLimit, w, u, group), Most: w.Concurrent})
	n.placed = append(n.placed, w)
}

// keyOf returns the key of a bucket, or of places.
func (n *needs) keyOf(kind limitKind, w *row, u *use, group string) []byte {
	from := len(n.key)
	n.key = append(n.key, byte(kind), byte(w.per))
	n.key = rate.AppendPart(n.key, w.Name)
	for _, part := range [...]struct {
		scope scope
		value string
	}{{perPrincipal, u.principal}, {perGroup, group}, {perServer, u.server}, {perTool, u.server},
		{perTool, u.tool}} {
		if w.per&part.scope != 0 {
			n.key = rate.AppendPart(n.key, part.value)
		}
	}
	return n.key[from:len(n.key):len(n.key)]
}

// appendPauseKey appends the key of the bucket that is closed while a server pauses, for all or for
// the user whose credentials it counts.
func appendPauseKey(key []byte, server, payer string) []byte {
	return rate.AppendPart(rate.AppendPart(append(key, byte(pauseLimit)), server), payer)
}

// costOf returns the cost of a tool: that of its name, or else of the longest pattern that matches.
func costOf(r *config.Rate, tool string) int {
	for _, c := range r.Costs { // the longest first
		pattern := host.Filter{Allow: []string{c.Tools}}
		if c.Tools == tool || pattern.Allows(tool) {
			return c.Cost
		}
	}
	return 1
}
