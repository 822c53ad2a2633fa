package serve

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/server"
)

// toolViews decides how tools are listed for clients: as the operator says, and where that is open,
// as their hosts are known to need it.
type toolViews struct {
	flag   *config.Discovery             // --discover, or nil
	config atomic.Pointer[config.Config] // in effect
}

// newToolViews returns the views of a configuration.
func newToolViews(flag *config.Discovery, c *config.Config) *toolViews {
	t := &toolViews{flag: flag}
	t.config.Store(c)
	return t
}

// use makes a configuration decide from now on. If its discover differs, use returns a function
// that reports whether clients with a name are listed other tools for that; otherwise nil.
func (t *toolViews) use(c *config.Config) (concerned func(client string) bool) {
	before := newToolViews(t.flag, t.config.Swap(c))
	if slices.Equal(before.config.Load().Discover, c.Discover) {
		return nil
	}
	now := newToolViews(t.flag, c)
	return func(client string) bool { return before.of(client) != now.of(client) }
}

// of returns the view of the clients with this name in their clientInfo.
func (t *toolViews) of(client string) server.ToolView {
	d, isDefault, given := discoveryOf(t.config.Load().Discover, client)
	if t.flag != nil {
		d, isDefault, given = *t.flag, true, true
	}
	host, _ := hosts.Of(client)
	automatic := d.MinTools > 0 || d.MinTokens > 0
	switch {
	case !isDefault:
	case automatic && host.Searches: // a search in a search finds nothing
		d = config.Discovery{}
	case host.MaxTools > 0 && (automatic || !given): // it leaves the others out
		d.Search = true
		if most := host.MaxTools + 1; d.MinTools == 0 || d.MinTools > most {
			d.MinTools = most
		}
	}
	return server.ToolView{Search: d.Search, MinTools: d.MinTools,
		MinBytes: hosts.Bytes(d.MinTokens), MaxName: host.MaxToolName("stdwire"), // as users name it
		NoDots: host.NoDots, MaxDescription: host.MaxDescription}
}

// maxResultText returns how many characters of a result the application of a client shows its
// model; 0: no limit is known.
func maxResultText(ctx context.Context) int {
	host, _ := hosts.Of(server.ClientFrom(ctx).Name)
	return host.MaxResult
}

// discoveryOf returns the Discovery of the clients with this name: the one for the name itself, or
// else the first pattern that matches but "*", or else that for "*". isDefault reports whether it
// is that for "*" or missing, and given whether there is one.
func discoveryOf(rules []config.Discovery, client string) (d config.Discovery,
	isDefault, given bool) {
	isDefault = true
	for _, rule := range rules {
		pattern := host.Filter{Allow: []string{rule.Client}}
		switch {
		case rule.Client == client:
			return rule, false, true
		case !isDefault || !pattern.Allows(client):
		case rule.Client == "*":
			d, given = rule, true
		default:
			d, isDefault, given = rule, false, true
		}
	}
	return d, isDefault, given
}
