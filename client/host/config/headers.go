package config

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

// addHeaders adds the headers that v defines.
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
	for name, text := range added {
		if !isToken(name) {
			r.errorf(v.Start, "headers: %.60q cannot be the name of a header", namePrefix(name))
		}
		if other, duplicate := seen[strings.ToLower(name)]; duplicate {
			r.errorf(v.Start, "headers: %q and %q are the same header; remove one of them",
				min(name, other), max(name, other))
		}
		seen[strings.ToLower(name)] = name
		all[name] = text
	}
	r.server.Headers = all
}

// isToken reports whether name is a valid header name (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
