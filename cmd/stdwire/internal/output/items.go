package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// NotedToolItem returns a function that shows a tool by how it is called, with what note returns,
// unless that is "".
func NotedToolItem(note func(*mcp.Tool) string) func(tool *mcp.Tool) item {
	return func(tool *mcp.Tool) item {
		shown := ToolItem(tool)
		if text := note(tool); text != "" {
			shown.head = append(shown.head, "("+text+")")
		}
		return shown
	}
}

// ToolItem shows a tool by how it is called.
func ToolItem(tool *mcp.Tool) item {
	head := Signature(tool)
	if !apps.ForModel(tool) {
		head = append(head, "(not for models)")
	}
	return item{head,
		displayDescription(tool.Description, tool.DisplayName(), tool.Name)}
}

// FoundTool returns a tool as a list shows it, with the name of its server before it and the name
// that the server has for it after it, unless they are "".
func FoundTool(server, own string, tool *mcp.Tool, columns printable.Columns) string {
	found := ToolItem(tool)
	if own != "" {
		found.head = append(found.head, "(overridden: its server's "+printable.Line(own)+")")
	}
	if server != "" {
		found.head = append([]string{printable.Line(server) + ":"}, found.head...)
	}
	return found.long(columns)
}

func resourceItem(r *mcp.Resource) item {
	head := []string{printable.Line(r.URI)}
	var facts []string
	if r.MIMEType != "" {
		facts = append(facts, printable.Line(r.MIMEType))
	}
	if r.Size != nil {
		facts = append(facts, command.Size(int(*r.Size)))
	}
	if facts != nil {
		head = append(head, "("+strings.Join(facts, ", ")+")")
	}
	return item{head, displayDescription(r.Description, cmp.Or(r.Title, r.Name), "")}
}

// skillItem shows a skill by its name, its URI and the size of its files.
func skillItem(s *mcp.Skill) item {
	head := []string{printable.Line(skill.Name(s.URI)), printable.Line(s.URI)}
	if s.Resources.Dynamic {
		head = append(head, "(generated)")
	} else {
		size := int64(0)
		for _, f := range s.Resources.Files {
			size += f.Size
		}
		head = append(head, fmt.Sprintf("(%s, %s)", command.Plural(len(s.Resources.Files), "file"),
			command.Size(int(size))))
	}
	return item{head, displayDescription(skill.Description(s), "", "")}
}

func templateItem(t *mcp.ResourceTemplate) item {
	return resourceItem(
		&mcp.Resource{URI: t.URITemplate, Name: t.Name, Title: t.Title, Description: t.Description,
			MIMEType: t.MIMEType})
}

func promptItem(p *mcp.Prompt) item {
	var required, optional []string
	for _, a := range p.Arguments {
		if name := printable.Line(a.Name); a.Required {
			required = append(required, name)
		} else {
			optional = append(optional, "["+name+"]")
		}
	}
	return item{joinSignature(p.Name, append(required, optional...)),
		displayDescription(p.Description, cmp.Or(p.Title, p.Name), p.Name)}
}

// PromptSignature returns how a prompt is called, as in name(required, [optional]).
func PromptSignature(p *mcp.Prompt) string {
	return printable.TruncateRunes(strings.Join(promptItem(p).head, " "), 500)
}
