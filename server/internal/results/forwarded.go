package results

import (
	"bytes"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Forwarded returns the result of another server in the form of the modern era, and reports whether
// it has isError.
func Forwarded(kind mcp.Kind, result []byte) (forwarded []byte, isError bool) {
	typed, empty := false, true
	ttl, scope := kind != mcp.KindResource, kind != mcp.KindResource
	for name, value := range jsonscan.Members(result) {
		empty = false
		switch {
		case jsonscan.KeyIs(name, "resultType"):
			typed = true
		case jsonscan.KeyIs(name, "isError"):
			isError = string(value) == "true"
		case kind != mcp.KindResource:
		case jsonscan.KeyIs(name, "ttlMs"):
			if n, ok := jsonscan.Int(value, 64); !ok || n < 0 {
				return Forwarded(kind, jsonscan.SetMember(result, "ttlMs", []byte("0")))
			}
			ttl = true
		case jsonscan.KeyIs(name, "cacheScope"):
			if len(value) < len(`"x"`) || value[0] != '"' {
				return Forwarded(kind,
					jsonscan.SetMember(result, "cacheScope", []byte(`"private"`)))
			}
			scope = true
		}
	}
	if typed && ttl && scope {
		return result, isError
	}
	open := bytes.IndexByte(result, '{') + 1
	made := append(make([]byte, 0, len(result)+80), result[:open]...)
	for _, member := range [...]struct {
		has  bool
		text string
	}{{typed, `"resultType":"complete"`}, {ttl, `"ttlMs":0`}, {scope, `"cacheScope":"private"`}} {
		if !member.has {
			made = append(append(made, member.text...), ',')
		}
	}
	if empty {
		made = made[:len(made)-1]
	}
	return append(made, result[open:]...), isError
}
