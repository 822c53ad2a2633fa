package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// errNobody is the answer to questions of a server when nobody is there.
var errNobody = rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: nobody can be asked here")

// Declare makes a client say that it can do what those of a gateway can, so that a server offers it the same tools; it refuses to do it, though. It is for who looks at servers
// as a gateway does: to compare their tools with pins.
func Declare(o *client.Options) {
	o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
	o.SampleTools = true
	o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errNobody }
	o.OnSample = func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, errNobody
	}
}

// Pinned is how pins know the server that a client of a gateway, or one like it, talks to, and the definitions of its tools.
func Pinned(id string, c *client.Client, tools []*mcp.Tool) (pin.Server, []json.RawMessage, error) {
	return pinned(id, c.ServerInfo().Name, tools)
}

func pinned(id, name string, tools []*mcp.Tool) (pin.Server, []json.RawMessage, error) {
	var like client.Options
	Declare(&like)
	declared, err := mcp.Marshal(like.Capabilities())
	if err != nil {
		return pin.Server{}, nil, err
	}
	definitions := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		if definitions[i], err = mcp.Marshal(tool); err != nil {
			return pin.Server{}, nil, err
		}
	}
	return pin.Server{ID: id, Name: name, Declared: declared}, definitions, nil
}

// firstUse is how long after a server was pinned the tools that it has more belong to its first use, as many have some only when they have seen the client's capabilities.
const firstUse = 10 * time.Second

// check compares tools with their pins.
func (m *mount) check(lock *pin.Lock, server pin.Server, definitions []json.RawMessage) (pin.Report, error) {
	report, err := lock.Check(server, definitions)
	if err != nil {
		return report, err
	}
	if report.First {
		m.pinned = time.Now()
	}
	var more []string
	for _, v := range report.Verdicts {
		if v.State == pin.New {
			more = append(more, v.Tool)
		}
	}
	if more == nil || report.Another != "" || time.Since(m.pinned) > firstUse {
		return report, nil
	}
	if err := lock.Accept(server, definitions, more...); err != nil {
		return report, err
	}
	return lock.Check(server, definitions)
}

// admit leaves out those tools that are not what they were when they were first used, and tells the log.
func (m *mount) admit(name string, tools []*mcp.Tool) []*mcp.Tool {
	lock := m.g.o.Pins
	if lock == nil {
		return tools
	}
	server, definitions, err := pinned(m.id, name, tools)
	var report pin.Report
	if err == nil {
		report, err = m.check(lock, server, definitions)
	}
	if err != nil {
		m.warn("its tools cannot be compared with what they were, and are not offered", err)
		return nil
	}
	var usable []*mcp.Tool
	for i, v := range report.Verdicts {
		if v.Usable() || m.g.o.PinsWarn {
			usable = append(usable, tools[i])
		}
		if v.Usable() {
			continue
		}
		attrs := []any{slog.String("server", m.id), slog.String("tool", v.Tool), slog.String("state", string(v.State)), slog.String("see", "stdwire pin diff")}
		if len(v.Changes) > 0 {
			attrs = append(attrs, slog.String("first_change", v.Changes[0].String()))
		}
		if report.Another != "" {
			attrs = append(attrs, slog.String("another", report.Another))
		}
		m.g.o.Logger.Warn("gateway: a tool is not what it was when it was first used", attrs...)
	}
	return usable
}
