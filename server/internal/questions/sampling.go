package questions

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// CheckMessages returns an error for messages that no model can continue (2026-07-28,
// client/sampling). Each message must have a role and content. If the assistant uses tools, the
// next message must contain a result for each use, and nothing else.
func CheckMessages(messages []mcp.SamplingMessage) error {
	var open map[string]bool // tool uses of the preceding message
	for i, m := range messages {
		if m.Role != mcp.RoleUser && m.Role != mcp.RoleAssistant || len(m.Content) == 0 {
			return fmt.Errorf("message %d: it needs the role user or assistant, and content", i)
		}
		uses, results := map[string]bool{}, 0
		for _, block := range m.Content {
			switch block := block.(type) {
			case *mcp.ToolUseContent:
				if block.Input == nil {
					return fmt.Errorf("message %d: the tool use %q has no Input", i, block.ID)
				}
				uses[block.ID] = true
			case *mcp.ToolResultContent:
				if !open[block.ToolUseID] {
					return fmt.Errorf(
						"message %d: the tool result %q matches no tool use in the message before",
						i, block.ToolUseID)
				}
				delete(open, block.ToolUseID)
				results++
			}
		}
		switch {
		case len(open) > 0:
			return fmt.Errorf(
				"message %d: a tool use in the message before has no result in this one", i)
		case results > 0 && (results < len(m.Content) || m.Role != mcp.RoleUser):
			return fmt.Errorf("message %d: tool results must be alone, in a message of the user", i)
		case len(uses) > 0 && m.Role != mcp.RoleAssistant:
			return fmt.Errorf("message %d: only the assistant uses tools", i)
		}
		open = uses
	}
	if len(open) > 0 {
		return errors.New("the last message uses a tool, whose result is missing")
	}
	return nil
}
