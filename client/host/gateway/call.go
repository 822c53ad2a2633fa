package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A call is a client's tools/call, resources/read or prompts/get, or the reading of a directory.
// The limits and the audit log apply to all of them, the interceptors to all but directories.
type call struct {
	kind      mcp.Kind
	directory bool // it is a resources/directory/read
	target    target
	arguments json.RawMessage
	result    json.RawMessage        // nil until there is one
	resumed   bool                   // the request answers a question
	tool      *definition.Definition // of a tool
	cached    bool                   // the result is that of an earlier call
	composed  bool                   // a tool of the gateway's own has run, which makes other calls
	sent      *atomic.Bool           // set when the call is sent to the server; may be nil
}

func (c *call) checkArguments() error {
	what, n := "arguments", len(c.arguments)
	if extra := metaSize(c.target.meta); extra > 0 {
		what, n = "arguments and _meta", n+extra
	}
	if n > c.target.upstream.maxArguments {
		return c.refuse(byLimit, rpc.CodeInvalidParams,
			"its %s have %d bytes, and maxArguments allows %d: nothing was sent", what, n,
			c.target.upstream.maxArguments)
	}
	return nil
}

func (c *call) checkResult() error {
	if n := len(c.result); n > c.target.upstream.maxResult {
		return c.refuse(byLimit, rpc.CodeInternalError,
			"its result has %d bytes, and maxResult allows %d: ask for less of it", n,
			c.target.upstream.maxResult)
	}
	return nil
}

// refuse returns the error of a call that the gateway refuses. Its data contains by, so that
// clients know the reason.
func (c *call) refuse(by string, code int, format string, args ...any) error {
	reason := rpc.Errorf(code, "server %q: %s %q: %s", c.target.id, c.kind,
		cmp.Or(c.target.public, c.target.name), fmt.Sprintf(format, args...))
	reason.Data = append(jsonscan.AppendString([]byte(`{"refused_by":`), by), '}')
	return &refusedError{by: by, reason: reason}
}
