package gateway

import (
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Listing contains the server's own names of its tools and prompts, its URIs and its URI
// templates.
type Listing struct {
	ID    string
	Names map[mcp.Kind][]string
}

// Collisions returns, by server ID, the items that a gateway without options would withhold because
// of name collisions. The order of servers is that of [Gateway.Order].
func Collisions(servers []Listing) map[string][]WithheldItem {
	t := nametable.New()
	public := make([]map[mcp.Kind]map[string]string, len(servers)) // public names by own name
	for i, s := range servers {
		t.AddServer(s.ID)
		public[i] = make(map[mcp.Kind]map[string]string)
		for kind, names := range s.Names {
			public[i][kind] = publicNames(s.ID, kind, names)
			all := make(map[string]string, len(names))
			for own, name := range public[i][kind] {
				all[name] = own
			}
			t.Replace(kind, s.ID, nil, all)
		}
	}
	collisions := map[string][]WithheldItem{}
	for i, s := range servers {
		for kind := range mcp.Kinds() {
			for _, own := range s.Names[kind] {
				if other, taken := t.FirstBefore(nametable.NewKey(kind, public[i][kind][own]),
					s.ID); taken {
					collisions[s.ID] = append(collisions[s.ID],
						WithheldItem{Kind: kind, Name: own, Reason: ReasonCollision,
							Detail: other.ID})
				}
			}
		}
	}
	return collisions
}

// publicNames returns the public names, by own name, of items of one kind of a server.
func publicNames(id string, kind mcp.Kind, own []string) map[string]string {
	if kind == mcp.KindTool || kind == mcp.KindPrompt {
		return itemname.Publics(id, own, host.DefaultMaxName)
	}
	public := make(map[string]string, len(own))
	for _, uri := range own {
		public[uri] = appuri.Public(id, uri)
	}
	return public
}
