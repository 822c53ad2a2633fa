package serve

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
)

// The conjunction of two filters passes no tool that one of them does not pass.
func TestBothFilters(t *testing.T) {
	patterns := [][]string{nil, {}, {"*"}, {"a*"}, {"?"}, {"a?", "*b"}, {"ab", "a*b"}, {"a*", "?*"}}
	names := []string{"", "a", "b", "ab", "aab", "ba", "abb", "c*", "a?"}
	for _, a := range patterns {
		for _, b := range patterns {
			for _, deny := range []string{"", "ab"} {
				f, g := host.Filter{Allow: a}, host.Filter{Allow: b}
				if deny != "" {
					f.Deny = []string{deny}
				}
				both := bothFilters(f, g)
				for _, name := range names {
					assert.Assert(t, !both.Allows(name) || f.Allows(name) &&
						g.Allows(name), "%v and %v is %v: %q", f, g, both, name)
				}
				again := bothFilters(f, both)
				for _, name := range names {
					assert.Equal(t, again.Allows(name), both.Allows(name), "%v and %v: %q", f, both,
						name)
				}
			}
		}
	}
	assert.DeepEqual(t, bothFilters(host.Filter{Allow: []string{"*"}},
		host.Filter{Allow: []string{"a?", "b*"}}).Allow,
		[]string{"a?", "b*"})
	assert.DeepEqual(t,
		bothFilters(host.Filter{Allow: []string{"a", "bc"}},
			host.Filter{Allow: []string{"b*", "c"}}).Allow,
		[]string{"bc"})
}
