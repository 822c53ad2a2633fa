package completion

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// A source that takes too long is not waited for, and nothing is printed.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		defer cancel()
		stuck := make(chan struct{})
		began := time.Now()
		std := termtest.Capture(false)
		Print(ctx, std.Streams, []string{""}, func(context.Context) []Candidate {
			<-stuck
			return []Candidate{{"late", ""}}
		})
		assert.Equal(t, time.Since(began), Timeout)
		close(stuck)
		synctest.Wait()
		assert.NilError(t, std.Out.Flush())
		assert.Equal(t, std.Stdout.String(), "")
	})
}
