package itemname

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "files", "chrome-devtools", "A.b_c-9", "0", "a" +
		strings.Repeat("b", 31)} {
		assert.NilError(t, CheckID(id))
	}
	for _, id := range []string{"", "-a", ".a", "_a", "a b", "é", "a/b", "a" +
		strings.Repeat("b", 32)} {
		assert.ErrorContains(t, CheckID(id), "is not 1 to 32 letters")
	}
	assert.ErrorContains(t, CheckID("a__b"), `contains "__"`)
}
