package cancelled

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestRequests(t *testing.T) {
	var l Requests
	for i := range int64(3 * maxCancelled) {
		l.add(rpc.IntID(i), mcp.MethodCallTool)
	}
	assert.Equal(t, len(l.last), maxCancelled)
	assert.Equal(t, l.Take(rpc.IntID(2*maxCancelled-1)), "")
	for i := range int64(maxCancelled) {
		assert.Equal(t, l.Take(rpc.IntID(2*maxCancelled+i)), mcp.MethodCallTool, fmt.Sprint(i))
	}
	assert.Equal(t, l.Take(rpc.IntID(3*maxCancelled-1)), "")
}
