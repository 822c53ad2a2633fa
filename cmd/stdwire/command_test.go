package main

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestUnexpectedErrors(t *testing.T) {
	f := asFailure(t.Context(), errors.New("odd"))
	assert.Equal(t, f.exit(), 1)
	assert.Equal(t, f.Error(), "odd")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalled{signal: syscall.SIGTERM})
	assert.Equal(t, asFailure(ctx, errors.New("odd")).exit(), 143)
}
