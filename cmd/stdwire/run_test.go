package main

import (
	"context"
	"testing"
)

// ran is how a command went, in this process; the servers that it starts are others.
type ran struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, args ...string) ran {
	t.Helper()
	return runWith(t.Context(), capture(false), args...)
}

func runWith(ctx context.Context, c captured, args ...string) ran {
	code := execute(ctx, args, c.streams)
	return ran{code, c.stdout.String(), c.stderr.String()}
}
