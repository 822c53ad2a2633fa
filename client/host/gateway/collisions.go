package gateway

import (
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/pin"
)

// A Listing contains the server's own names of its tools and prompts, its URIs and its URI
// templates.
type Listing struct {
	ID    string
	Names map[pin.Kind][]string
}

// Collisions returns, by server ID, the items that a gateway without options would withhold because
// of name collisions. The order of servers is that of [Gateway.Order].
func Collisions(servers []Listing) map[string][]WithheldItem {
	t := newNameTable()
	public := func(id string, kind pin.Kind, own string) string {
		if kind == pin.Tool || kind == pin.Prompt {
			return host.PublicName(id, own, host.DefaultMaxName)
		}
		return (&upstreamServer{id: id}).publicURI(own)
	}
	for _, s := range servers {
		t.addServer(s.ID)
		for kind, names := range s.Names {
			all := make(map[string]string, len(names))
			for _, own := range names {
				all[public(s.ID, kind, own)] = own
			}
			t.replace(string(kind), s.ID, nil, all)
		}
	}
	collisions := map[string][]WithheldItem{}
	for _, s := range servers {
		for _, kind := range pin.Kinds() {
			for _, own := range s.Names[kind] {
				if other, taken := t.firstBefore(newNameKey(string(kind), public(s.ID, kind, own)),
					s.ID); taken {
					collisions[s.ID] = append(collisions[s.ID],
						WithheldItem{Kind: string(kind), Name: own, Reason: ReasonCollision,
							Detail: other.id})
				}
			}
		}
	}
	return collisions
}
