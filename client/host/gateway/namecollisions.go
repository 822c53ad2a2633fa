package gateway

import (
	"encoding/json"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Collisions returns, by server ID, the items that a gateway without options would withhold because
// of name collisions. ids are in the order of [Gateway.Order]; names has, by server ID, the own
// names of the server's tools and prompts, its URIs and its URI templates.
func Collisions(ids []string, names map[string]map[mcp.Kind][]string) map[string][]WithheldItem {
	t := nametable.New()
	public := make([]map[mcp.Kind]map[string]string, len(ids)) // public names by own name
	for i, id := range ids {
		t.AddServer(id)
		public[i] = make(map[mcp.Kind]map[string]string)
		for kind, listed := range names[id] {
			public[i][kind] = publicNames(id, kind, listed)
			all := make(map[string]string, len(listed))
			for own, name := range public[i][kind] {
				all[name] = own
			}
			t.Replace(kind, id, nil, all)
		}
	}
	collisions := map[string][]WithheldItem{}
	for i, id := range ids {
		for kind := range mcp.Kinds() {
			for _, own := range names[id][kind] {
				if other, taken := t.FirstBefore(nametable.NewKey(kind, public[i][kind][own]),
					id); taken {
					collisions[id] = append(collisions[id],
						WithheldItem{Kind: kind, Name: own, Reason: ReasonCollision,
							Detail: other.ID})
				}
			}
		}
	}
	return collisions
}

// Overridden returns, by own name, what a gateway offers in place of those of these definitions
// that overrides change, without the prefix of its names: nil for one that it does not offer. For
// those whose overrides it cannot apply, and so withholds, refused says why.
func Overridden(kind mcp.Kind, definitions []json.RawMessage,
	o map[string]host.Override) (offered map[string]json.RawMessage, refused map[string]error) {
	offered, refused = map[string]json.RawMessage{}, map[string]error{}
	all, _ := definition.ParseTexts(kind, definitions, o)
	for _, d := range all {
		_, found := o[itemkey.Of(kind, d.Own)]
		switch {
		case d.Refused != nil:
			refused[d.Own] = d.Refused
		case !found:
		case d.Hidden:
			offered[d.Own] = nil
		case kind == mcp.KindTool || kind == mcp.KindPrompt:
			offered[d.Own] = jsonscan.SetMember(d.Passed, "name", jsonscan.AppendString(nil, d.Name))
		default:
			offered[d.Own] = d.Passed
		}
	}
	return offered, refused
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
