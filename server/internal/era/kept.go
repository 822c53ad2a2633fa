package era

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

const maxCapabilities = 16 << 10 // bytes that a connection keeps

// definedCapabilities are the members of capabilities that a connection keeps.
var definedCapabilities = [...]string{"roots", "sampling", "elicitation", "tasks", "extensions",
	"experimental"}

// Kept returns a copy of the members of a client's capabilities that the protocol defines. It
// returns nil if there are none, and an error if they have too many bytes.
func Kept(sent []byte) (kept json.RawMessage, err error) {
	size := len(sent)
	if len(sent) > 0 && sent[0] == '{' {
		size = 0
		for name, value := range jsonscan.Members(sent) {
			if !slices.ContainsFunc(definedCapabilities[:],
				func(defined string) bool { return jsonscan.KeyIs(name, defined) }) {
				continue
			}
			if size += len(name) + len(value); size > maxCapabilities {
				continue
			}
			if kept == nil {
				kept = json.RawMessage{'{'}
			}
			kept = jsonscan.AppendMember(kept, name, value)
		}
		if kept != nil {
			kept = append(kept, '}')
		}
	} else if size <= maxCapabilities {
		kept = bytes.Clone(sent) // invalid: a later question to the client says so
	}
	if size > maxCapabilities {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: the capabilities have %d bytes, more than the %d that are kept", size,
			maxCapabilities)
	}
	return slices.Clip(kept), nil
}
