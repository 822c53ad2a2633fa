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
	assert.Equal(t, f.Exit(), 1)
	assert.Equal(t, f.Error(), "odd")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Signalled{Signal: syscall.SIGTERM})
	assert.Equal(t, AsFailure(ctx, errors.New("odd")).Exit(), 143)
}
