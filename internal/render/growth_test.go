package render

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/growth"
	"github.com/stdwire/stdwire/internal/printable"
)

// One long name does not make every row as wide.
func TestColumnsAreLinear(t *testing.T) {
	value := func(n int) []byte {
		return []byte(`{"` + strings.Repeat("x", 20*n) + `":1` + strings.Repeat(`,"a":1`, n) + `}`)
	}
	growth.Linear(t, 500, func(n int) func() {
		text := value(n)
		return func() { format(text, printable.NoTerminal) }
	})
	shown := format(value(5000), printable.NoTerminal)
	assert.Assert(t, len(shown) < 2*len(value(5000)), "%d", len(shown))
	assert.Assert(t, strings.HasSuffix(shown, "x:  1\n"+strings.Repeat("a:  1\n", 5000)))
}
