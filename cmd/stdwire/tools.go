package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func toolsCommand() command {
	return command{
		name: "tools", usage: "[-o text|json|raw] [-- SERVER-COMMAND…]",
		summary: "list the tools of a server",
		help: "As text, each tool is shown as it is called, and how its description begins; optional arguments stand in brackets. json is the list, and raw are " +
			"the results of tools/list, one a line, both as the server wrote them.",
		make: func() (grammar, runner) {
			t := newTarget()
			var output string
			flags := append([]flag{format(&output, "text", "json", "raw")}, t.flags()...)
			return grammar{flags: flags, command: t.command}, func(ctx context.Context, std *streams) error {
				return t.use(ctx, std, func(c *client.Client) error { return listTools(ctx, c, std, output) })
			}
		},
	}
}

func listTools(ctx context.Context, c *client.Client, std *streams, output string) error {
	switch output {
	case "json":
		list, err := toolsJSON(ctx, c)
		if err != nil {
			return err
		}
		std.out.json(list)
	case "raw":
		for page, err := range c.ToolPages(ctx) {
			if err != nil {
				return err
			}
			std.out.json(page)
		}
	default:
		first := true
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
			if !first {
				std.out.print("\n")
			}
			first = false
			std.out.print(describe(tool))
		}
		if first {
			std.err.printf("the server has no tools")
		}
	}
	return nil
}

// toolsJSON returns the tools of all pages as one array, every byte of each as the server wrote it.
func toolsJSON(ctx context.Context, c *client.Client) ([]byte, error) {
	list := []byte{'['}
	for page, err := range c.ToolPages(ctx) {
		if err != nil {
			return nil, err
		}
		tools := jsonscan.Member(page, "tools")
		if len(tools) == 0 || tools[0] != '[' {
			return nil, &failure{code: "internal", what: mcp.MethodListTools, why: "the result has no array of tools", hint: "-o raw shows it"}
		}
		inner := bytes.TrimSpace(tools[1 : len(tools)-1])
		if len(inner) > 0 && len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, inner...)
	}
	return append(list, ']'), nil
}

const maxDescription = 4 // lines of it in a list

// describe shows a tool in a list.
func describe(tool *mcp.Tool) string {
	text := wrapWords(signature(tool), 0, 8) + "\n"
	paragraph := firstParagraph(tool.Description)
	if paragraph == "" {
		paragraph = printable.Line(tool.DisplayName())
		if paragraph == printable.Line(tool.Name) {
			return text
		}
	}
	lines := strings.Split(wrap(paragraph, 4, 4), "\n")
	if len(lines) > maxDescription {
		lines = lines[:maxDescription]
		lines[maxDescription-1] += " …"
	}
	return text + strings.Join(lines, "\n") + "\n"
}

// firstParagraph is what stands before the first empty line, in one.
func firstParagraph(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = printable.Line(line); line == "" {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// findTool returns the definition of a tool. The error names the tools that there are.
func findTool(ctx context.Context, c *client.Client, name string) (*mcp.Tool, error) {
	var names []string
	for tool, err := range c.Tools(ctx) {
		switch {
		case err != nil:
			return nil, err
		case tool.Name == name:
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return nil, noTool(name, names)
}

func noTool(name string, names []string) *failure {
	f := &failure{code: "not_found", tool: name, what: name, why: "there is no such tool"}
	if len(names) == 0 {
		f.why = "the server has no tools"
		return f
	}
	const most = 40
	if len(names) <= most {
		f.why += "; there are " + strings.Join(names, ", ")
	} else {
		f.why += fmt.Sprintf(" among the %d that stdwire tools lists", len(names))
	}
	return f.withHint(near.DidYouMean(name, names))
}
