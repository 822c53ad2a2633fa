package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// checkOverrides adds findings about the overrides of a server's items in its configuration: those
// of items that it does not have, and those that stdwire serve cannot apply.
func (r *Report) checkOverrides(o map[string]host.Override, all map[mcp.Kind][]json.RawMessage) {
	var unknown, refused []string
	for kind := range mcp.Kinds() {
		definitions, listed := all[kind]
		if !listed {
			continue // what the server has is not known
		}
		var names []string
		for _, definition := range definitions {
			names = append(names, kind.KeyOf(definition))
		}
		for _, key := range itemkey.Unknown(maps.Keys(o), kind, names) {
			text := fmt.Sprintf("%q", key)
			_, own := itemkey.Item(key)
			if similar := near.Match(own, names); similar != "" {
				text += fmt.Sprintf(" (did you mean %q?)", similar)
			}
			unknown = append(unknown, text)
		}
		_, errs := gateway.Overridden(kind, definitions, o)
		for _, name := range slices.Sorted(maps.Keys(errs)) {
			refused = append(refused, fmt.Sprintf("%s (%v)", name, errs[name]))
		}
	}
	r.addForTools(Warning, `"overrides" in its configuration of items that it does not have`, unknown,
		"correct or remove them: they do nothing")
	r.addForTools(Broken, `"overrides" in its configuration that cannot be applied`, refused,
		"correct them: stdwire serve withholds these items")
}
