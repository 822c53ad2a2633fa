package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

// A Discovery says how a gateway lists its tools for some clients: a member of discover.
type Discovery struct {
	Client string // the name in clientInfo, or a pattern as in tools; "" for all
	Search bool   // tools by which others are found and called, in place of the tools
	// Search applies from so many tools, or from definitions of about so many tokens; 0: always.
	MinTools, MinTokens int
}

// discoveryWindow is the size of the window of a model, in tokens, that percentages are of.
const discoveryWindow = 200_000

const discoveryForm = `"list", "search", "auto", "auto:N" for from N tools, or "auto:N%" for from N percent of 200,000 tokens`

// ParseDiscovery parses "list", "search", "auto", "auto:N" or "auto:N%". Auto is auto:10%. The
// Client of the result is "".
func ParseDiscovery(text string) (Discovery, error) {
	mode, least, limited := strings.Cut(text, ":")
	switch {
	case text == "list":
		return Discovery{}, nil
	case text == "search":
		return Discovery{Search: true}, nil
	case mode != "auto":
		return Discovery{}, fmt.Errorf("%.60q is none of %s", text, discoveryForm)
	case !limited:
		least = "10%"
	}
	digits, percent := strings.CutSuffix(least, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 1 || n > 1_000_000 || percent && n > 100:
		return Discovery{}, fmt.Errorf("%.60q is none of %s", text, discoveryForm)
	case percent:
		return Discovery{Search: true, MinTokens: n * discoveryWindow / 100}, nil
	}
	return Discovery{Search: true, MinTools: n}, nil
}

// maxDiscoveries limits the members of discover.
const maxDiscoveries = 100

// readDiscover reads how tools are listed for clients, and returns where the file says so, or zero.
func (r *reader) readDiscover(root jsonedit.Value) (all []Discovery, at Position) {
	object, ok := root.Member("discover")
	if !ok {
		return nil, at
	}
	r.field = "discover"
	if !object.IsObject() {
		r.typeError(object, "an object of modes by clients' names")
		return nil, at
	}
	at = r.position(object.Start)
	for _, m := range r.members(object) {
		r.field = fmt.Sprintf("discover.%.60s", m.Name)
		mode, isText := m.AsString()
		d, err := ParseDiscovery(mode)
		d.Client = m.Name
		switch {
		case len(all) == maxDiscoveries:
			r.errorf(m.Offset, "discover has more than %d members", maxDiscoveries)
			return all, at
		case !isText:
			r.typeError(m.Value, "one of "+discoveryForm)
		case err != nil:
			r.errorf(m.Start, "%s: %v", r.field, err)
		default:
			all = append(all, d)
		}
	}
	return all, at
}

func discoverSchema() object {
	return object{"type": "object", "maxProperties": maxDiscoveries,
		"additionalProperties": pattern(`^(list|search|auto(:[1-9][0-9]{0,6}|:[1-9][0-9]?%|:100%)?)$`)}
}
