// Package commandtest runs commands in tests, for users and in projects of their own.
package commandtest

import (
	"context"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// Ran is the outcome of a command in this process; servers run in processes of their own.
type Ran struct {
	Code           int
	Stdout, Stderr string
}

// Run runs the command that args name, with streams that are no terminal and no input.
func Run(t *testing.T, commands command.Table, args ...string) Ran {
	t.Helper()
	return RunWith(t.Context(), termtest.Capture(false), commands, args...)
}

// RunWith is Run with these streams.
func RunWith(ctx context.Context, c termtest.Captured, commands command.Table, args ...string) Ran {
	run, err := commands.Find(args[0])
	if err == nil {
		err = run.Run(ctx, args[1:], c.Streams)
	}
	code := command.Exit(ctx, args, c.Streams, err)
	return Ran{code, c.Stdout.String(), c.Stderr.String()}
}
