package auth

import (
	"slices"
	"strings"
)

const (
	// requests a refresh token (OpenID Connect Core 1.0, section 11)
	offlineAccess = "offline_access"
	maxScopes     = 100
	maxScopeBytes = 4 << 10
)

// parseScopes returns the scopes in a space-separated list (RFC 6749, section 3.3), without
// malformed ones and up to the limits.
func parseScopes(text string) []string { return union(nil, strings.Fields(text)) }

// union returns all and the valid scopes of more, each once and up to the limits.
func union(all, more []string) []string {
	all = slices.Clone(all)
	size := len(strings.Join(all, " "))
	for _, scope := range more {
		if !isScope(scope) || slices.Contains(all, scope) {
			continue
		}
		if size += len(scope) + 1; size > maxScopeBytes || len(all) == maxScopes {
			break
		}
		all = append(all, scope)
	}
	return all
}

func isScope(text string) bool {
	return isVisible(text) && !strings.ContainsAny(text, `"\`)
}

// containsAll reports whether all contains each of wanted.
func containsAll(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted,
		func(scope string) bool { return !slices.Contains(all, scope) })
}
