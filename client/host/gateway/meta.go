package gateway

import (
	"context"
	"maps"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// metaOption returns the call option that sends m as _meta, or nil if m is empty.
func metaOption(m mcp.Meta) []client.CallOption {
	if len(m) == 0 {
		return nil
	}
	return []client.CallOption{client.Meta(m)}
}

// metaFor returns the _meta to send to c: that of the target and, to a modern server, the log level
// that the client wants.
func (t *target) metaFor(ctx context.Context, c *client.Client) mcp.Meta {
	level := logging.MoreVerbose(server.LogLevelFrom(ctx), t.level)
	if level == "" || c.Era() != mcp.Modern {
		return t.meta
	}
	m := maps.Clone(t.meta)
	_ = m.Set(mcp.MetaLogLevel, level) // a string
	return m
}

// metaSize returns the number of bytes of the keys and values of m.
func metaSize(m mcp.Meta) (size int) {
	for key, value := range m {
		size += len(key) + len(value)
	}
	return size
}
