package web

import (
	"context"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
)

func TestLogRoute(t *testing.T) {
	v := visit(t)
	var o client.Options
	end := v.site.traffic.Record("a", &o)
	const log = `{"jsonrpc":"2.0","method":"notifications/message","params":` +
		`{"level":"error","logger":"http","data":{"path":"/x","why":"REFUSED"}}}`
	o.Hooks.Frame(context.Background(), rpc.Inbound, []byte(log))
	end() // waits until it is recorded
	status, text := v.send("GET", "/api/logs?text=refused", "", v.key())
	assert.Equal(t, status, 200)
	assert.Assert(t, strings.Contains(text, `"data":{"path":"/x","why":"REFUSED"}`), text)
	status, _ = v.send("GET", "/api/logs?level=loud", "", v.key())
	assert.Equal(t, status, 400)
}
