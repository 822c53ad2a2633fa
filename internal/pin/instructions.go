package pin

import (
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Instructions is the kind of the instructions of a server, which are one definition of the same
// name. They are pinned because clients show them to models, as they show descriptions.
const Instructions mcp.Kind = "instructions"

// Kinds yields the kinds of everything that is pinned, always in the same order: [mcp.Kinds] and
// [Instructions].
func Kinds() iter.Seq[mcp.Kind] {
	return func(yield func(mcp.Kind) bool) {
		for kind := range mcp.Kinds() {
			if !yield(kind) {
				return
			}
		}
		yield(Instructions)
	}
}

// MaxInstructions is how many bytes of the instructions of a server are pinned. Nobody may be shown
// the rest.
const MaxInstructions = 64 << 10

// InstructionsOf returns the definitions of the kind [Instructions] for the text of a server: none
// if it is empty. Of a text with more than [MaxInstructions] bytes, it has the first.
func InstructionsOf(text string) []json.RawMessage {
	if text == "" {
		return nil
	}
	text = printable.TruncateBytes(text, MaxInstructions)
	return []json.RawMessage{append(jsonscan.AppendString([]byte(`{"name":"instructions","text":`),
		text), '}')}
}

// keyOf returns the member that identifies a definition.
func keyOf(kind mcp.Kind) string {
	if kind == Instructions {
		return "name"
	}
	return kind.Info().Key
}
