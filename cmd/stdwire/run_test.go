package main

import (
	"context"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// ran is the outcome of a command in this process; servers run in processes of their own.
type ran struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, args ...string) ran {
	t.Helper()
	return runWith(t.Context(), termtest.Capture(false), args...)
}

func runWith(ctx context.Context, c termtest.Captured, args ...string) ran {
	code := execute(ctx, args, c.Streams)
	return ran{code, c.Stdout.String(), c.Stderr.String()}
}
