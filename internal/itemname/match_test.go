package itemname

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The time of Match is not exponential.
func TestMatchIsNotExponential(t *testing.T) {
	assert.Assert(t, !Match(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 10_000)))
}
