package doctor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
)

// checkFilter adds findings about the patterns of a server's tools in its configuration: a wrong
// one leaves a tool open, or offers none.
func (r *Report) checkFilter(f *host.Filter, definitions []json.RawMessage) {
	var names []string
	for _, d := range definitions {
		name, _ := jsonscan.Text(jsonscan.Member(d, "name"))
		names = append(names, name)
	}
	var unmatched []string
	for _, member := range []struct {
		name     string
		patterns []string
	}{{"allow", f.Allow}, {"deny", f.Deny}} {
		for _, pattern := range member.patterns {
			one := host.Filter{Allow: []string{pattern}}
			if slices.ContainsFunc(names, one.Allows) {
				continue
			}
			text := fmt.Sprintf("%q in %s", pattern, member.name)
			if similar := near.Match(pattern, names); similar != "" {
				text += fmt.Sprintf(" (did you mean %q?)", similar)
			}
			unmatched = append(unmatched, text)
		}
	}
	r.addForTools(Warning, `patterns of "tools" in its configuration that match no tool`, unmatched,
		"correct them; what deny does not match is offered")
	if len(names) > 0 && !slices.ContainsFunc(names, f.Allows) {
		r.add(Warning, fmt.Sprintf(`"tools" in its configuration lets none of its %d tools through`,
			len(names)), "")
	}
}
