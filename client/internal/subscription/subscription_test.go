package subscription

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

// What is kept of messages about requests that the client does not know yet is bounded.
func TestEarlyMessagesAreBounded(t *testing.T) {
	var s Stream
	long := `"` + strings.Repeat("x", 100) + `"`
	s.Acknowledge(Ack{ID: long}, 200)
	s.Acknowledge(Ack{ID: "1"}, maxEarlyAck+1)
	id, err := rpc.ParseID([]byte(long))
	assert.NilError(t, err)
	s.End(id)
	assert.Equal(t, s.early.ID, "")
	assert.Assert(t, s.ended.IsZero())
}
