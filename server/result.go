package server

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// rawJSON is an encoded result.
type rawJSON []byte

func (e rawJSON) AppendJSON(dst []byte) ([]byte, error) { return append(dst, e...), nil }

// IsError is [Result.IsError]. Middleware calls it.
func (e rawJSON) IsError() bool { return Result(e).IsError() }

// JSONSize returns the size for [rpc.Appender].
func (e rawJSON) JSONSize() int { return len(e) }

// orNil returns e, or a nil interface if e is nil.
func (e rawJSON) orNil() any {
	if e == nil {
		return nil
	}
	return e
}

// appendModernSuffix ends an object with the members that every modern result has: resultType and
// the server's info (2026-07-28, basic, Responses).
func (s *Server) appendModernSuffix(dst []byte) []byte {
	return append(append(dst, s.modernSuffix...), "}}"...)
}

// modernSuffix returns the end of a modern result without its closing braces, so that more members
// of _meta may follow.
func modernSuffix(info []byte) []byte {
	return append([]byte(`,"resultType":"complete","_meta":{"`+mcp.MetaServerInfo+`":`), info...)
}

// metaSession is the member of _meta with the ID of the session in which a tool call ran.
const metaSession = `"session_id":`

// appendCacheable is appendModernSuffix with cache hints (2026-07-28, server/utilities/caching).
func (s *Server) appendCacheable(dst []byte, public bool) []byte {
	return s.appendModernSuffix(s.appendHints(dst, public))
}

// appendHints appends the cache hints of lists.
func (s *Server) appendHints(dst []byte, public bool) []byte {
	return s.appendHintsTTL(dst, public, s.o.ListTTL.Milliseconds())
}

// appendHintsTTL is appendHints with a ttlMs.
func (s *Server) appendHintsTTL(dst []byte, public bool, ttl int64) []byte {
	scope := "private"
	if public {
		scope = "public"
	}
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), ttl, 10)
	return append(append(append(dst, `,"cacheScope":"`...), scope...), '"')
}

// A toolResult encodes an envelope as the result of tools/call. For programs, the structured
// content is the envelope. For models, the content is the text that the operation returns for its
// data, or else the same JSON. A client without structured content gets the JSON.
type toolResult struct {
	server *Server
	era    *era
	dispatch.Envelope
}

// IsError reports whether the result has isError. Middleware calls it.
func (t *toolResult) IsError() bool { return !t.Success() }

// JSONSize estimates the size for [rpc.Appender]: the data occurs twice, once with escapes.
func (t *toolResult) JSONSize() int { return 2*len(t.Data) + len(t.Data)/8 + 512 }

// AppendJSON implements [rpc.Appender].
func (t *toolResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = slices.Grow(dst, t.JSONSize())
	dst = append(dst, '{')
	var envelope []byte
	own := t.Envelope
	own.Session = "" // the session goes into _meta
	if t.era.structuredContent {
		dst = append(dst, `"structuredContent":`...)
		start := len(dst)
		dst = own.AppendJSON(dst)
		envelope = dst[start:] // remains valid if append moves dst
		dst = append(dst, ',')
	} else {
		envelope = own.AppendJSON(nil)
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	if t.era.structuredContent && t.Text != "" {
		dst = jsonscan.AppendString(dst, t.Text)
	} else {
		dst = jsonscan.AppendString(dst, envelope)
	}
	dst = append(dst, `}],"isError":`...)
	dst = strconv.AppendBool(dst, !t.Success())
	return t.server.appendResultEnd(dst, t.era, t.Session), nil
}

// appendResultEnd ends the result of a tool, with the ID of the session in which it ran, if any.
func (s *Server) appendResultEnd(dst []byte, e *era, session string) []byte {
	switch {
	case e.modern && session == "":
		return s.appendModernSuffix(dst)
	case e.modern:
		dst = append(append(append(dst, s.modernSuffix...), ','), metaSession...)
	case session == "":
		return append(dst, '}')
	default:
		dst = append(dst, `,"_meta":{`+metaSession...)
	}
	return append(jsonscan.AppendString(dst, session), "}}"...)
}

// encodeResult encodes a handler's result for the client's era. base points into result, which must
// be a copy of the handler's result.
func (r *request) encodeResult(result any, base *mcp.Result) (any, error) {
	base.ResultType = ""
	if r.era.modern {
		base.ResultType, base.Meta = mcp.ResultComplete, maps.Clone(base.Meta)
		if err := base.Meta.Set(mcp.MetaServerInfo, r.conn.server.info); err != nil {
			return nil, err
		}
	}
	text, err := mcp.Marshal(result)
	if err != nil {
		return nil, r.logError(err)
	}
	return rawJSON(text), nil
}
