package auth

import (
	"slices"
	"strings"
)

const (
	offlineAccess = "offline_access" // OpenID Connect Core 1.0, section 11: a refresh token is wanted
	maxScopes     = 100
	maxScopeBytes = 4 << 10
)

// parseScopes reads a list of scopes (RFC 6749, section 3.3). What is no scope is left out, and so is what is too much.
func parseScopes(text string) []string { return union(nil, strings.Fields(text)) }

// union adds scopes to a list, each once.
func union(all, more []string) []string {
	all = slices.Clone(all)
	size := len(strings.Join(all, " "))
	for _, scope := range more {
		if size += len(scope) + 1; size > maxScopeBytes || len(all) == maxScopes {
			break
		}
		if isScope(scope) && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

func isScope(text string) bool {
	return isToken(text) && !strings.ContainsAny(text, `"\`)
}

// containsAll says whether all wanted scopes are in a list.
func containsAll(all, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(scope string) bool { return !slices.Contains(all, scope) })
}
