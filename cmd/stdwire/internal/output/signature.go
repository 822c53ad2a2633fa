package output

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Signature returns how a tool is called, as words that may be wrapped: name(required: string,
// [optional: integer], nested: {a: string}[]).
func Signature(tool *mcp.Tool) []string {
	input := form.NewSchema(tool.InputSchema).Limited()
	return joinSignature(tool.Name, arguments.Parameters(input, 0))
}

// joinSignature joins a name and parameters, each of which becomes a word.
func joinSignature(name string, words []string) []string {
	for i := range len(words) - 1 {
		words[i] += ","
	}
	if words == nil {
		words = []string{""}
	}
	words[0] = printable.Line(name) + "(" + words[0]
	words[len(words)-1] += ")"
	return words
}
