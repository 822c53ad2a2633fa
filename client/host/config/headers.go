package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// addHeaders adds headers, which the value v defines.
func (r *reader) addHeaders(v jsonedit.Value, added map[string]string) {
	if added == nil {
		return
	}
	all, seen := r.server.Headers, map[string]string{}
	if all == nil {
		all = map[string]string{}
	}
	for name := range all {
		seen[strings.ToLower(name)] = name
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if !httptoken.Is(name) {
			r.errorf(v.Start, "headers: %.60q cannot be the name of a header", namePrefix(name))
		}
		if other, duplicate := seen[strings.ToLower(name)]; duplicate {
			r.errorf(v.Start, "headers: %q and %q are the same header; remove one of them",
				min(name, other), max(name, other))
		}
		seen[strings.ToLower(name)] = name
		all[name] = added[name]
	}
	r.server.Headers = all
}
