package target

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// FindTool returns the definition of a tool. The error lists the tools of the server.
func FindTool(tools iter.Seq2[*mcp.Tool, error], name string) (*mcp.Tool, error) {
	var names []string
	for tool, err := range tools {
		switch {
		case IsOtherInvalid(err, name): // the list ends
			continue
		case err != nil:
			return nil, err
		case tool.Name == name:
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return nil, NotFound("tool", name, names, "stdwire ls tools")
}

// IsOtherInvalid reports whether err says that elements of a list are invalid, and that with this
// name is not among them.
func IsOtherInvalid(err error, name string) bool {
	invalid, ok := errors.AsType[*client.InvalidItemsError](err)
	return ok && !slices.ContainsFunc(invalid.Items,
		func(i client.InvalidItem) bool { return i.Name == name })
}

// NotFound returns the failure for a name that the server does not have. It lists the names, or if
// they are many the command that does.
func NotFound(kind, name string, names []string, lists string) *command.Failure {
	f := &command.Failure{Code: "not_found", What: name, Why: "there is no such " + kind}
	if kind == "tool" {
		f.Tool = name
	}
	if len(names) == 0 {
		f.Why = "the server has no " + kind + "s"
		return f
	}
	const most = 40
	if len(names) <= most {
		f.Why += "; there are " + strings.Join(names, ", ")
	} else {
		f.Why += fmt.Sprintf(" among the %d that %s lists", len(names), lists)
	}
	return f.WithHint(near.DidYouMeanItem(name, names))
}
