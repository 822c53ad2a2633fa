package proc

import (
	"os"
	"testing"

	"github.com/stdwire/stdwire/internal/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}
