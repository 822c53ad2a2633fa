package scan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxTokens is how many tokens the tools of a server may be without a finding: a twentieth of the
// context of a model with 200,000.
const maxTokens = 10_000

// costlyTools finds servers whose tools take much of the context of a model.
func costlyTools(sc *scanner) (all []Finding) {
	for _, s := range sc.servers {
		total, most, dearest := 0, 0, ""
		for _, d := range s.definitions {
			if d.kind != mcp.KindTool {
				continue
			}
			var compact bytes.Buffer
			size := len(d.raw)
			if json.Compact(&compact, d.raw) == nil {
				size = compact.Len()
			}
			if total += size; size > most {
				most, dearest = size, d.name
			}
		}
		if tokens := hosts.Tokens(total); tokens > maxTokens {
			all = append(all, Finding{
				Severity: Low, Place: Place{Server: s.ID, Kind: kindServer},
				What: fmt.Sprintf("its tools have %d bytes, about %d tokens (bytes/4), more than "+
					"%d; the largest is %s with about %d", total, tokens, maxTokens, dearest,
					hosts.Tokens(most)),
			})
		}
	}
	return all
}
