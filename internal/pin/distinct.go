package pin

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Distinct returns the definitions that have a name, and only the first of several with the same
// name. [File.Check] returns an error for the others.
func Distinct(kind mcp.Kind, definitions []json.RawMessage) (distinct []json.RawMessage) {
	seen := map[string]bool{"": true}
	for _, definition := range definitions {
		name, _ := jsonscan.Text(jsonscan.Member(definition, keyOf(kind)))
		if !seen[name] {
			seen[name] = true
			distinct = append(distinct, definition)
		}
	}
	return distinct
}
