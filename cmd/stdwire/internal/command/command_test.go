package command

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestUnexpectedErrors(t *testing.T) {
	f := AsFailure(t.Context(), errors.New("odd"))
	assert.Equal(t, f.ExitCode(), 1)
	assert.Equal(t, f.Error(), "odd")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(SignalError{Signal: syscall.SIGTERM})
	assert.Equal(t, AsFailure(ctx, errors.New("odd")).ExitCode(), 143)
}
