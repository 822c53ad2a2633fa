package server

import (
	"bytes"
	"context"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// capabilities is what the server can do, in either era.
const capabilities = `{"logging":{},"tools":{"listChanged":true}}`

// discover answers server/discover (2026-07-28, server/discover).
func discover(_ context.Context, r *request) (any, error) {
	s := r.conn.server
	result := []byte(`{"supportedVersions":["` + string(mcp.Latest) + `"],"capabilities":` + capabilities)
	result = appendInstructions(result, s)
	return encoded(s.appendCacheable(result)), nil
}

// initialize answers the legacy handshake (2025-11-25, basic/lifecycle). It may be repeated; the last one holds.
func initialize(_ context.Context, r *request) (any, error) {
	version, ok := jsonscan.Unquote(jsonscan.Member(r.Params, "protocolVersion"))
	if !ok {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: protocolVersion must be there and a string")
	}
	revision := mcp.Negotiate(string(version))
	features, _ := mcp.FeaturesOf(revision)
	client := bytes.Clone(jsonscan.Member(r.Params, "capabilities")) // the params are gone when this request is
	r.conn.legacy.Store(&era{revision: revision, structured: features.StructuredOutput, capabilities: client})
	r.Peer().AllowBatch(features.Batch)

	s := r.conn.server
	result := []byte(`{"protocolVersion":"` + string(revision) + `","capabilities":` + capabilities + `,"serverInfo":`)
	result = append(result, s.info...)
	result = appendInstructions(result, s)
	return encoded(append(result, '}')), nil
}

func appendInstructions(dst []byte, s *Server) []byte {
	if s.o.Instructions != "" {
		dst = jsonscan.AppendString(append(dst, `,"instructions":`...), s.o.Instructions)
	}
	return dst
}

// initialized is the end of the legacy handshake: from now on the server may speak unasked.
func initialized(c *conn, _ *rpc.Request) { c.open.Store(true) }

func ping(context.Context, *request) (any, error) { return encoded(`{}`), nil }
