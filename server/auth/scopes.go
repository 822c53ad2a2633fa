package auth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/server/streamable"
)

// checkScopes refuses messages for which the token lacks a scope. The refusal names all required
// scopes, so that the client asks its user only once (2026-07-28, Scope Challenge Handling).
func (s *Resource) checkScopes(id *Identity, scheme string,
	messages []streamable.Message) *streamable.Refusal {
	needed := s.o.Scopes
	if s.o.MessageScopes != nil {
		needed = slices.Clone(needed)
		for _, m := range messages {
			for _, scope := range s.o.MessageScopes(m) {
				if !slices.Contains(needed, scope) {
					needed = append(needed, scope)
				}
			}
		}
	}
	for _, scope := range needed {
		if !s.hasScope(id, scope) {
			return s.insufficientScope(scheme, needed)
		}
	}
	return nil
}

// hasScope reports whether the token has a scope, directly or implied.
func (s *Resource) hasScope(id *Identity, scope string) bool {
	return slices.ContainsFunc(id.Scopes, func(has string) bool {
		return has == scope || slices.Contains(s.implies[has], scope)
	})
}

// impliedScopes returns the transitive closure of implies.
func impliedScopes(implies map[string][]string) map[string][]string {
	all := make(map[string][]string, len(implies))
	for scope := range implies {
		reached := []string{scope}
		for i := 0; i < len(reached); i++ {
			for _, next := range implies[reached[i]] {
				if !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
		all[scope] = reached[1:]
	}
	return all
}

// checkScope refuses text that is not a scope (RFC 6749, section 3.3), and scopes that a resource
// should not ask for (2026-07-28, Refresh Tokens).
func checkScope(scope string) error {
	if scope == "offline_access" {
		return fmt.Errorf(
			"auth: the scope %q is between clients and authorization servers; omit it", scope)
	}
	for i := range len(scope) {
		if c := scope[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return fmt.Errorf("auth: the scope %q has an invalid character", scope)
		}
	}
	if scope == "" {
		return errors.New("auth: a scope is empty")
	}
	return nil
}
