package web

import (
	"testing"

	"gotest.tools/v3/assert"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// A server with a connection for each user is one server, which is ready if one of them is.
func TestServerOfManySessions(t *testing.T) {
	withheld := []ops.WithheldItem{{Name: "echo"}}
	all := eachOnce([]ops.Status{
		{Server: "a", State: "ready"},
		{Server: "b", Session: "ada", State: "failed", Error: "refused", Memory: 1, Withheld: withheld},
		{Server: "b", Session: "bob", State: "ready", Memory: 2, Uses: 1},
		{Server: "b", Session: "cid", State: "stopped", Memory: 4, Uses: 2},
		{Server: "c", State: "failed", Error: "no such program"}})
	assert.DeepEqual(t, all, []ops.Status{{Server: "a", State: "ready"},
		{Server: "b", Session: "bob", State: "ready", Memory: 7, Uses: 3, Withheld: withheld},
		{Server: "c", State: "failed", Error: "no such program"}})
}
