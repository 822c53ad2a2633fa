package main

import (
	"fmt"
	"iter"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// findTool returns the definition of a tool. The error names the tools that there are.
func findTool(tools iter.Seq2[*mcp.Tool, error], name string) (*mcp.Tool, error) {
	var names []string
	for tool, err := range tools {
		switch {
		case err != nil:
			return nil, err
		case tool.Name == name:
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return nil, notFound("tool", name, names, "stdwire tools")
}

// notFound is the failure for something of a kind that a server does not have. It names what there is, or if that is too much the command that lists it.
func notFound(kind, name string, names []string, lists string) *failure {
	f := &failure{code: "not_found", what: name, why: "there is no such " + kind}
	if kind == "tool" {
		f.tool = name
	}
	if len(names) == 0 {
		f.why = "the server has no " + kind + "s"
		return f
	}
	const most = 40
	if len(names) <= most {
		f.why += "; there are " + strings.Join(names, ", ")
	} else {
		f.why += fmt.Sprintf(" among the %d that %s lists", len(names), lists)
	}
	return f.withHint(near.DidYouMean(name, names))
}
