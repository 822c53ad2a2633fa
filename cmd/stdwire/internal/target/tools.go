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

// Find returns the item of a list that has this name, which nameOf returns. The error lists the
// names.
func Find[T any](items iter.Seq2[*T, error], kind mcp.Kind, name string,
	nameOf func(*T) string) (*T, error) {
	var names []string
	for item, err := range items {
		switch {
		case isOtherInvalid(err, name): // the list ends
			continue
		case err != nil:
			return nil, err
		case nameOf(item) == name:
			return item, nil
		}
		names = append(names, nameOf(item))
	}
	return nil, NotFound(string(kind), name, names, "stdwire ls "+kind.Info().Short+"s")
}

// isOtherInvalid reports whether err says that elements of a list are invalid, and that with this
// name is not among them.
func isOtherInvalid(err error, name string) bool {
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
