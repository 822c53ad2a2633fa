// Package processtest tells tests which processes run.
package processtest

import (
	"fmt"
	"testing"

	"github.com/stdwire/stdwire/internal/eventually"
)

// AwaitEnd waits until processes do not run any more. One that was killed may still be exiting when
// its output is at its end.
func AwaitEnd(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually.True(t, fmt.Sprintf("process %d has ended", pid),
			func() bool { return !Runs(pid) })
	}
}
