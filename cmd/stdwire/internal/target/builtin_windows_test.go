package target

import (
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"
)

// What is not offered is not passed over in silence.
func TestAllowEvalOnWindows(t *testing.T) {
	b := BuiltinFlags{Eval: true}
	_, err := b.Open(slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "--allow-eval: proc.eval runs scripts by sh")
}
