package hook

import (
	"os"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
)

// TestMain lets the test program stand in for the guard of the commands that hooks run.
func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}
