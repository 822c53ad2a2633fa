package auth

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jose"
)

// A token without groups, as most are, costs nothing for them.
func TestNoGroups(t *testing.T) {
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		groups, err := tokenGroups(&jose.Claims{})
		assert.Assert(t, groups == nil && err == nil)
	}), 0.0)
}
