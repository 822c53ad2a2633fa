//go:build unix

package target

import (
	"context"
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A command that does not answer is killed; one request waits for the other, and none longer than
// its call.
func TestSampleIsBounded(t *testing.T) {
	s := &sampler{words: []string{"sh", "-c", "sleep 600 & sleep 600"}, timeout: 50 * time.Millisecond,
		turn: make(chan struct{}, 1)}
	_, err := s.sample(t.Context(), mcp.CreateMessageParams{})
	assert.Error(t, err, `--sample: "sh": it did not answer within 50ms`)

	s.timeout = time.Nanosecond // it ends before the command has started
	_, err = s.sample(t.Context(), mcp.CreateMessageParams{})
	assert.Error(t, err, `--sample: "sh": it did not answer within 1ns`)

	s.timeout = time.Hour
	ended := errors.New("the call has ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.turn <- struct{}{}
	cancel(ended)
	_, err = s.sample(ctx, mcp.CreateMessageParams{})
	assert.Equal(t, err, ended)
	<-s.turn
	_, err = s.sample(ctx, mcp.CreateMessageParams{})
	assert.Assert(t, err != nil)

	s.words = []string{"no-such-program-anywhere"}
	_, err = s.sample(t.Context(), mcp.CreateMessageParams{})
	assert.ErrorContains(t, err, `--sample: "no-such-program-anywhere": executable file not found`)
}
