// Package results encodes the results of a server in the form of a client's era.
package results

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Common is what all results of a server have in common. It does not change.
type Common struct {
	Info    json.RawMessage // the name and version of the server
	listTTL time.Duration
	end     []byte // see AppendMeta
}

// New returns what the results of a server with this Info have in common. listTTL is the ttlMs of
// lists.
func New(info json.RawMessage, listTTL time.Duration) *Common {
	end := `,"resultType":"` + string(mcp.ResultComplete) + `","_meta":{"` + mcp.MetaServerInfo + `":`
	return &Common{info, listTTL, append([]byte(end), info...)}
}

// AppendEnd ends the object of a result, in the modern era with the members that every result has:
// resultType and the server's info (2026-07-28, basic, Responses).
func (c *Common) AppendEnd(dst []byte, modern bool) []byte {
	if !modern {
		return append(dst, '}')
	}
	return append(append(dst, c.end...), "}}"...)
}

// AppendMeta is AppendEnd without the closing braces. A member of _meta and "}}" must follow.
func (c *Common) AppendMeta(dst []byte, modern bool) []byte {
	if !modern {
		return append(dst, `,"_meta":{`...)
	}
	return append(append(dst, c.end...), ',')
}

// AppendHints appends the cache hints of a list (2026-07-28, server/utilities/caching). One that
// lacks items, or whose items depend on more than the list, must not be kept.
func (c *Common) AppendHints(dst []byte, public, passing bool) []byte {
	ttl, scope := c.listTTL.Milliseconds(), mcp.CachePrivate
	if passing {
		ttl = 0
	}
	if public {
		scope = mcp.CachePublic
	}
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), ttl, 10)
	return append(append(append(dst, `,"cacheScope":"`...), scope...), '"')
}

// Empty returns a modern result without content.
func (c *Common) Empty() []byte { return append(append([]byte{'{'}, c.end[1:]...), "}}"...) }

// Complete returns an object with the members of a modern result that it lacks.
func (c *Common) Complete(result []byte) []byte {
	meta := jsonscan.Member(result, "_meta")
	if !IsObject(meta) {
		meta = []byte(`{}`)
	}
	if jsonscan.Member(meta, mcp.MetaServerInfo) == nil {
		meta = jsonscan.SetMember(meta, mcp.MetaServerInfo, c.Info)
	}
	result = jsonscan.Without(result, "_meta")
	if jsonscan.Member(result, "resultType") == nil {
		result = jsonscan.SetMember(result, "resultType", []byte(`"`+mcp.ResultComplete+`"`))
	}
	return jsonscan.SetMember(result, "_meta", meta)
}

// IsObject reports whether a JSON text is an object, if it is valid.
func IsObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}
