package target

import (
	"os"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
)

// The guards of commands are this program again.
func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}
