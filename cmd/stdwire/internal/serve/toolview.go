package serve

import (
	"sync"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/server"
)

// toolViews decides how tools are listed for clients: as the operator says, and where that is open,
// as their hosts are known to need it.
type toolViews struct {
	flag   *config.Discovery // --discover, or nil
	config *config.Config

	mu    sync.Mutex
	views map[server.ToolView]*server.ToolView // the server keeps lists by pointer
}

const bytesPerToken = 4 // about

// of returns the view of the clients with this name in their clientInfo.
func (t *toolViews) of(client string) *server.ToolView {
	d, isDefault, given := t.config.DiscoveryOf(client)
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
	v := server.ToolView{Search: d.Search, MinTools: d.MinTools,
		MinBytes: d.MinTokens * bytesPerToken, NoDots: host.NoDots,
		MaxDescription: host.MaxDescription}
	if host.MaxName > 0 {
		v.MaxName = host.MaxName - len(host.NamePrefix("stdwire")) // as users name this server
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.views[v] == nil { // one for each rule and host at most
		t.views[v] = &v
	}
	return t.views[v]
}
