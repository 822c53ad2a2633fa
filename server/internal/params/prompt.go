package params

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Prompt returns the arguments of a prompt, nil if raw is nil. It returns an error if they
// are not an object of strings, or if a required one is missing.
func Prompt(prompt string, declared []mcp.PromptArgument,
	raw json.RawMessage) (arguments map[string]string, err error) {
	if len(raw) > 0 {
		if raw[0] != '{' {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: arguments must be an object")
		}
		arguments = map[string]string{}
	}
	for key, value := range jsonscan.Named(raw) {
		text, ok := jsonscan.Text(value)
		if !ok {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: arguments: %.100q must be a string", key)
		}
		if _, twice := arguments[key]; twice {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: arguments: %.100q occurs twice", key)
		}
		arguments[key] = text
	}
	for _, a := range declared {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: the prompt %.100s needs the argument %.100q", prompt, a.Name)
		}
	}
	return arguments, nil
}
