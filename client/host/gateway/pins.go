package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return nil, errNobody }
}

// Pinned is how pins know the server that a client of a gateway, or one like it, talks to. Of what
// it has they know all that is passed on: [client.Client.ToolDefinitions] and its like.
func Pinned(id string, c *client.Client) (pin.Server, error) { return pinned(id, c.ServerInfo().Name) }

func pinned(id, name string) (pin.Server, error) {
	var like client.Options
	Declare(&like)
	declared, err := mcp.Marshal(like.Capabilities())
	return pin.Server{ID: id, Name: name, Capabilities: declared}, err
}

// Definitions returns what a server has of a kind, as pins know it: what has no name or URI, or one
// that something else has already, is left out. A server that does not know the kind has nothing of
// it.
func Definitions(ctx context.Context, c *client.Client, kind pin.Kind) (all []json.RawMessage, err error) {
	list := map[pin.Kind]func(context.Context, ...client.CallOption) iter.Seq2[json.RawMessage, error]{
		pin.Tool: c.ToolDefinitions, pin.Prompt: c.PromptDefinitions, pin.Resource: c.ResourceDefinitions, pin.Template: c.ResourceTemplateDefinitions,
	}[kind]
	for text, err := range list(ctx) {
		if errors.Is(err, rpc.ErrMethodNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return pin.Distinct(kind, all), nil
}

// firstUse is how long after a server was pinned what it has more belongs to its first use, as many
// have some tools only when they have seen the client's capabilities.
const firstUse = 10 * time.Second

// A judge compares what a server has of one kind with its pins. It is of the mount's goroutine.
type judge struct {
	pinned time.Time         // when that was pinned, if it was now
	told   map[string]string // what the log was told of what is not what it was
}

// check compares definitions with their pins.
func (j *judge) check(lock *pin.Lock, server pin.Server, kind pin.Kind, definitions []json.RawMessage) (pin.Report, error) {
	report, err := lock.Check(server, kind, definitions)
	if err != nil {
		return report, err
	}
	if report.First {
		j.pinned = time.Now()
	}
	var more []string
	for _, v := range report.Verdicts {
		if v.State == pin.New {
			more = append(more, v.Name)
		}
	}
	if more == nil || report.IdentityChange != "" || time.Since(j.pinned) > firstUse {
		return report, nil
	}
	if err := lock.Accept(server, kind, definitions, more...); err != nil {
		return report, err
	}
	return lock.Check(server, kind, definitions)
}

// admit leaves out what is not what it was when it was first used, and tells the log; of each way
// in which it is another, once. It adds that to what is withheld.
func (s *shelf[T, F]) admit(server string, all []definition[T], withheld map[string]Withheld) (usable []definition[T]) {
	lock := s.m.g.o.Pins
	if lock == nil {
		return all
	}
	withhold := func(d definition[T], reason Reason, detail string) {
		if own, public := s.name(d.item); public != "" {
			withheld[public] = Withheld{Kind: s.kind, Name: own, Reason: reason, Detail: detail}
		}
	}
	like, err := pinned(s.m.id, server)
	var report pin.Report
	if err == nil {
		report, err = s.judge.check(lock, like, pin.Kind(s.kind), texts(all))
	}
	if err != nil {
		if len(all) > 0 {
			s.m.warn("its "+s.kind+"s cannot be compared with what they were, and are not offered", err)
		}
		for _, d := range all {
			withhold(d, ReasonUnusable, err.Error())
		}
		return nil
	}
	told := make(map[string]string)
	for i, v := range report.Verdicts {
		if v.Usable() || s.m.g.o.PinsWarn {
			usable = append(usable, all[i])
		}
		if v.Usable() {
			continue
		}
		attrs := []any{slog.String("server", s.m.id), slog.String(s.kind, v.Name), slog.String("state", string(v.State)), slog.String("see", "stdwire pin diff")}
		reason, detail := ReasonNew, ""
		if len(v.Changes) > 0 {
			reason, detail = ReasonChanged, v.Changes[0].String()
			attrs = append(attrs, slog.String("first_change", detail))
		}
		if report.IdentityChange != "" {
			reason, detail = ReasonAnother, report.IdentityChange
			attrs = append(attrs, slog.String("another", report.IdentityChange))
		}
		if told[v.Name] = fmt.Sprint(attrs...); s.judge.told[v.Name] != told[v.Name] {
			s.m.g.o.Logger.Warn("gateway: a "+s.kind+" is not what it was when it was first used", attrs...)
		}
		if !s.m.g.o.PinsWarn {
			withhold(all[i], reason, detail)
		}
	}
	s.judge.told = told
	return usable
}

// Recheck compares what servers have with their pins again, as these have changed. No server is
// started for that. It does not block.
func (g *Gateway) Recheck() {
	for _, m := range g.allMounts() {
		select {
		case m.recheck <- struct{}{}:
		default:
		}
	}
}
