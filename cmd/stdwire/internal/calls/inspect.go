package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// InspectCommand is stdwire inspect.
func InspectCommand() command.Command {
	return command.Command{
		Name: "inspect", Usage: "[TOOL] [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "describe a server, or print the definition of a tool",
		Help: `Prints the negotiated revision, the name and version of the server, the time of its start, the names
of its environment variables, its output on stdout that is not a message, and the apps of its tools:
their size and the permissions that they request. With a TOOL it prints the description of the tool
and a table of its parameters; json prints the whole definition, as the server wrote it.`,
		Make: func() (command.Grammar, command.Runner) {
			t := target.NewTarget().OrServers()
			var form, tool string
			return t.Grammar(command.Arguments(&tool), command.FormatFlag(&form, "text", "json"),
					output.ListTimeoutFlag(&t.ListTimeout)),
				func(ctx context.Context, std *term.Streams) error {
					began := time.Now()
					return t.UseWith(ctx, std, apps.Declare, func(c *client.Client) error {
						if tool != "" {
							if err := t.Configured.CheckAllowed(tool); err != nil {
								return err
							}
							return InspectTool(ctx, c, std, t.Lists()[0], tool, form)
						}
						defer t.WarnDown(ctx, std, c)
						return InspectServer(ctx, c, std, time.Since(began), t.ListTimeout, form)
					})
				}
		},
	}
}

// InspectTool prints the definition of a tool, as the server wrote it (json) or for people.
func InspectTool(ctx context.Context, c *client.Client, std *term.Streams, tools output.List, name,
	form string) error {
	list, err := tools.JSON(ctx, c)
	if err != nil {
		return err
	}
	var names []string
	for definition := range jsonscan.Elements(list) {
		own, _ := jsonscan.Unquote(jsonscan.Member(definition, "name"))
		if string(own) != name {
			names = append(names, string(own))
			continue
		}
		if form == "json" {
			std.Out.PrintJSON(definition)
			return nil
		}
		var tool mcp.Tool
		if err := mcp.Unmarshal(definition, &tool); err != nil {
			return err
		}
		output.PrintDefinition(std.Out, &tool)
		if tools.Note != nil && tools.Note(&tool) != "" {
			std.Out.Print("\nIn a gateway it is " + tools.Note(&tool) + ".\n")
		}
		std.Out.Print(fmt.Sprintf("\nIts definition has %v (bytes/4).\n",
			output.CostOf(output.DefinitionBytes(definition))))
		return nil
	}
	return target.ExplainUnlisted(ctx, c, name,
		target.NotFound("tool", name, names, "stdwire ls tools"))
}

// A Report describes a server.
type Report struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	Title        string          `json:"title,omitempty"`
	Era          string          `json:"era"`
	Revision     mcp.Revision    `json:"revision"`
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions string          `json:"instructions,omitempty"`
	Handshake    handshake       `json:"handshake"`
	// from the start of the process to the end of the handshake
	ReadyMs     float64      `json:"ready_ms"`
	Tools       *int         `json:"tools"`                 // their number; null without tools/list
	ToolCost    *output.Cost `json:"tool_cost,omitempty"`   // of their definitions
	ListMs      float64      `json:"list_ms"`               // the time of listing the tools
	Pid         int          `json:"pid,omitempty"`         // of a child process
	Environment []string     `json:"environment,omitempty"` // the names of the variables
	Apps        []appReport  `json:"apps,omitempty"`
	Noise       noise        `json:"noise"`
}

// An appReport describes the app of tools.
type appReport struct {
	URI         string   `json:"uri"`
	Tools       []string `json:"tools"`
	Bytes       int      `json:"bytes,omitempty"`
	Digest      string   `json:"digest,omitempty"`
	Origins     []string `json:"origins,omitempty"`
	Permissions []string `json:"permissions,omitempty"`
	Error       string   `json:"error,omitempty"` // why it cannot be read
}

// inspectApps describes the apps of the tools.
func inspectApps(ctx context.Context, c *client.Client, timeout time.Duration) ([]appReport,
	error) {
	pages, unreadable, err := output.ReadApps(ctx, c, client.Timeout(timeout))
	if err != nil {
		return nil, err
	}
	var all []appReport
	byURI := map[string]int{}
	for tool, err := range client.OmitInvalid(c.Tools(ctx, client.Timeout(timeout))) {
		if err != nil {
			return nil, err
		}
		ui, has := apps.Of(tool)
		if !has {
			continue
		}
		at, known := byURI[ui.ResourceURI]
		if !known {
			at = len(all)
			byURI[ui.ResourceURI] = at
			all = append(all, appReport{URI: ui.ResourceURI})
			if err := unreadable[ui.ResourceURI]; err != nil {
				all[at].Error = err.Error()
			}
		}
		all[at].Tools = append(all[at].Tools, tool.Name)
	}
	for _, a := range pages {
		if at, known := byURI[a.URI]; known {
			r := &all[at]
			r.Bytes, r.Digest, r.Permissions = len(a.HTML), a.Digest, a.Permissions()
			r.Origins, _ = a.Origins()
		}
	}
	return all, nil
}

func (r *appReport) text() string {
	parts := []string{fmt.Sprintf("%s, of %s", r.URI, strings.Join(r.Tools, " "))}
	if r.Error != "" {
		return parts[0] + ": " + r.Error
	}
	parts = append(parts, fmt.Sprintf("%d bytes", r.Bytes))
	if r.Permissions != nil {
		parts = append(parts, "asks for "+strings.Join(r.Permissions, " "))
	}
	if r.Origins != nil {
		parts = append(parts, "uses "+strings.Join(r.Origins, " "))
	}
	return strings.Join(append(parts, r.Digest), ", ")
}

type handshake struct {
	Method string          `json:"method"`
	Ms     float64         `json:"ms"`
	Result json.RawMessage `json:"result"`
}

type noise struct {
	Lines     int      `json:"lines"`
	Samples   []string `json:"samples"`
	Unmatched int      `json:"unmatched"`
	OtherIDs  int      `json:"other_ids,omitempty"`
	Repaired  int      `json:"repaired"`
}

// InspectServer prints a Report. ready is the time from the start of the process to the end of the
// handshake.
func InspectServer(ctx context.Context, c *client.Client, std *term.Streams, ready,
	listTimeout time.Duration, form string) error {
	info, shake := c.ServerInfo(), c.Handshake()
	r := Report{
		Name: info.Name, Version: info.Version, Title: info.Title, Era: c.Era().String(),
		Revision: c.Revision(), Instructions: c.Instructions(),
		Capabilities: jsonscan.Member(shake.Result, "capabilities"),
		Handshake:    handshake{shake.Method, command.Milliseconds(shake.Took), shake.Result},
		ReadyMs:      command.Milliseconds(ready),
	}
	if r.Capabilities == nil {
		r.Capabilities = json.RawMessage("null")
	}
	if p := c.Process(); p != nil {
		r.Pid, r.Environment = p.Pid, p.EnvNames
	}
	began := time.Now()
	count, size := 0, 0
	tools := output.WithTimeout(ctx, mcp.MethodListTools, listTimeout,
		func(ctx context.Context) iter.Seq2[*mcp.Tool, error] {
			return c.Tools(ctx, client.Timeout(-1)) // of a page, because the whole has a limit
		})
	for tool, err := range tools {
		if errors.Is(err, rpc.ErrMethodNotFound) {
			count = -1
			break
		}
		if output.WarnInvalid(std, err) {
			break
		}
		if err != nil {
			return err
		}
		count++
		if definition, err := mcp.Marshal(tool); err == nil {
			size += len(definition)
		}
	}
	if count >= 0 {
		r.Tools, r.ListMs = &count, command.Milliseconds(time.Since(began))
		cost := output.CostOf(size)
		r.ToolCost = &cost
	}
	if count > 0 {
		var err error
		if r.Apps, err = inspectApps(ctx, c, listTimeout); err != nil {
			return err
		}
	}
	n := c.Stats() // last, so that the counts include everything above
	r.Noise = noise{n.Junk, append([]string{}, n.Samples...), n.Unmatched, n.OtherIDs,
		n.Repaired}
	if form == "json" {
		return std.Out.PrintValue(r)
	}
	std.Out.Print(r.text(std.Out.Columns()))
	return nil
}

func (r *Report) text(columns printable.Columns) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		text := printable.Line(fmt.Sprintf(format, args...))
		b.WriteString(columns.WrapAfter(name, text, 14) + "\n")
	}
	row("server", "%s %s %s", r.Name, r.Version, r.Title)
	row("protocol", "%s, %s era, by %s", r.Revision, r.Era, r.Handshake.Method)
	row("capabilities", "%s", capabilityNames(r.Capabilities))
	row("ready", "after %.0f ms, of which the handshake took %.0f", r.ReadyMs, r.Handshake.Ms)
	if r.Tools != nil {
		row("tools", "%d, listed in %.1f ms; their definitions have %v (bytes/4)", *r.Tools,
			r.ListMs, *r.ToolCost)
	} else {
		row("tools", "none: the server does not know tools/list")
	}
	for i := range r.Apps {
		row("app", "%s", r.Apps[i].text())
	}
	noise := "noise"
	if r.Pid != 0 {
		row("process", "%d", r.Pid)
		row("environment", "%s", strings.Join(r.Environment, " "))
		noise = "stdout noise"
	}
	row(noise, "%s", r.Noise.text())
	for _, line := range r.Noise.Samples {
		fmt.Fprintf(&b, "  | %s\n", printable.Line(line))
	}
	if r.Instructions != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(r.Instructions))
	}
	return b.String()
}

// capabilityNames formats capabilities, as in tools(listChanged), logging.
func capabilityNames(capabilities []byte) string {
	var names []string
	for token, value := range jsonscan.Members(capabilities) {
		unquoted, _ := jsonscan.Unquote(token)
		name := string(unquoted)
		var details []string
		for detail := range jsonscan.Named(value) {
			details = append(details, detail)
		}
		if details != nil {
			name += "(" + strings.Join(details, " ") + ")"
		}
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (n *noise) text() string {
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{{n.Lines, "lines that are no message (logs belong on stderr)"},
		{n.Unmatched, "answers to nothing"},
		{n.OtherIDs, "answers with an id in another notation"}, {n.Repaired, "messages with broken Unicode"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", part.what, part.count))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, "; ")
}
