package output

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// PrintValue prints what servers have returned as JSON: a value encoded as [mcp.Marshal] does.
func PrintValue(std *term.Streams, v any) error {
	text, err := mcp.Marshal(v)
	if err == nil {
		std.Out.PrintJSON(text)
	}
	return err
}
