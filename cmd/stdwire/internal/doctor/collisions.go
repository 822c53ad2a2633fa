package doctor

import (
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// namesOf returns the names of definitions; of tools, those that the filter allows.
func namesOf(all map[mcp.Kind][]json.RawMessage, filter *host.Filter) map[mcp.Kind][]string {
	names := map[mcp.Kind][]string{}
	for kind, definitions := range all {
		for _, definition := range pin.Distinct(kind, definitions) {
			if name := kind.KeyOf(definition); kind != mcp.KindTool || filter.Allows(name) {
				names[kind] = append(names[kind], name)
			}
		}
	}
	return names
}

// findCollisions adds findings for names that an earlier server of the configuration also has.
// The reports are in the order of the configuration.
func findCollisions(reports []*Report) {
	var ids []string
	names := map[string]map[mcp.Kind][]string{}
	for _, c := range reports {
		if c.has != nil {
			ids, names[c.ID] = append(ids, c.ID), c.has
		}
	}
	all := gateway.Collisions(ids, names)
	for _, c := range reports {
		for _, kind := range []mcp.Kind{mcp.KindTool, mcp.KindPrompt} {
			c.addForTools(Warning, string(kind)+
				"s whose names are the same after invalid characters are replaced",
				renamed(c.ID, c.has[kind]),
				"stdwire serve offers them under these names: a valid name keeps its own")
		}
		found := map[mcp.Kind][]string{}
		for _, w := range all[c.ID] {
			found[w.Kind] = append(found[w.Kind], fmt.Sprintf("%s (%s)", w.Name, w.Detail))
		}
		for kind := range mcp.Kinds() {
			c.addForTools(Broken, string(kind)+
				"s that an earlier server of the configuration also has",
				found[kind],
				"stdwire serve withholds them from this server: remove them from one of the two servers, or remove one server from the configuration")
		}
	}
}

// renamed returns the names that do not keep their usual public name, because several would have
// the same, each with its public name.
func renamed(id string, names []string) (all []string) {
	public := itemname.Publics(id, names, host.DefaultMaxName)
	for _, name := range names {
		if usual := host.PublicName(id, name, host.DefaultMaxName); public[name] != usual {
			all = append(all, fmt.Sprintf("%s (as %s)", name, public[name]))
		}
	}
	return all
}
