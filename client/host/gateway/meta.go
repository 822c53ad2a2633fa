package gateway

import (
	"context"

	"github.com/stdwire/stdwire/client"
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

// meta returns the _meta to forward: the trace context and, to a modern server, the log level that
// the client wants.
func meta(ctx context.Context, t *target, c *client.Client) mcp.Meta {
	m := traceOf(ctx)
	if level := moreVerbose(server.LogLevelFrom(ctx), t.level); level != "" &&
		c.Era() == mcp.Modern {
		if m == nil {
			m = mcp.Meta{}
		}
		_ = m.Set(mcp.MetaLogLevel, level) // a string
	}
	return m
}

// traceOf returns the trace context of the client's request as _meta, or nil if it has none.
func traceOf(ctx context.Context) mcp.Meta {
	trace := server.TraceFrom(ctx)
	if trace == (server.Trace{}) {
		return nil
	}
	m := mcp.Meta{}
	for key, value := range map[string]string{mcp.MetaTraceparent: trace.Traceparent,
		mcp.MetaTracestate: trace.Tracestate, mcp.MetaBaggage: trace.Baggage} {
		if value != "" {
			_ = m.Set(key, value) // a string
		}
	}
	return m
}
