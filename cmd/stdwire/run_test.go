package main

import (
	"context"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// ran is how a command went, in this process; the servers that it starts are others.
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
