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

// errNoClient is the answer to questions of a server when there is no client.
var errNoClient = rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: nobody can be asked here")

// Declare makes a client declare the capabilities of a gateway's clients, so that a server offers
// it the same tools; its handlers refuse every request. Use it to compare a server's tools with
// pins.
func Declare(o *client.Options) {
	o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
	o.SampleTools = true
	o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return nil, errNoClient
	}
	o.OnSample = func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, errNoClient
	}
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return nil, errNoClient }
}

// Pinned returns the identity under which pins know the server of c, a client with the capabilities
// of [Declare]. Pins cover all definitions as received: see [client.Integration.ToolDefinitions].
func Pinned(id string, c *client.Client) (pin.Server, error) {
	return pinServer(id, c.ServerInfo().Name)
}

func pinServer(id, name string) (pin.Server, error) {
	var like client.Options
	Declare(&like)
	declared, err := mcp.Marshal(like.Capabilities())
	return pin.Server{ID: id, Name: name, Capabilities: declared}, err
}

// Definitions returns a server's definitions of a kind as pins know them, without those that have
// no name or URI or a duplicate one. A server that does not implement the kind has none.
func Definitions(ctx context.Context, c *client.Client, kind pin.Kind) (all []json.RawMessage,
	err error) {
	lists := c.Integration()
	list := map[pin.Kind]func(context.Context,
		...client.CallOption) iter.Seq2[json.RawMessage, error]{
		pin.Tool: lists.ToolDefinitions, pin.Prompt: lists.PromptDefinitions,
		pin.Resource: lists.ResourceDefinitions, pin.Template: lists.ResourceTemplateDefinitions,
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

// firstUse is how long after a server was pinned new items are pinned as well: many servers add
// tools after they have seen the client's capabilities.
const firstUse = 10 * time.Second

// A pinChecker compares one list with its pins. It is used by upstreamServer.run only.
type pinChecker struct {
	pinnedAt time.Time         // when the list was pinned; zero if it was before this run
	warned   map[string]string // warnings logged so far, by name
}

// check compares definitions with their pins.
func (j *pinChecker) check(lock *pin.Lock, server pin.Server, kind pin.Kind,
	definitions []json.RawMessage) (pin.Report, error) {
	report, err := lock.Check(server, kind, definitions)
	if err != nil {
		return report, err
	}
	if report.First {
		j.pinnedAt = time.Now()
	}
	var more []string
	for _, v := range report.Verdicts {
		if v.State == pin.New {
			more = append(more, v.Name)
		}
	}
	if more == nil || report.IdentityChange != "" || time.Since(j.pinnedAt) > firstUse {
		return report, nil
	}
	if err := lock.Accept(server, kind, definitions, more...); err != nil {
		return report, err
	}
	return lock.Check(server, kind, definitions)
}

// admit returns the definitions that match their pins, adds the others to withheld, and logs each
// difference once.
func (s *itemList[T, F]) admit(server string, all []definition[T],
	withheld map[string]Withheld) (usable []definition[T]) {
	lock := s.m.g.o.Pins
	if lock == nil {
		return all
	}
	withhold := func(d definition[T], reason Reason, detail string) {
		if own, public := s.name(d.item); public != "" {
			withheld[public] = Withheld{Kind: s.kind, Name: own, Reason: reason, Detail: detail}
		}
	}
	like, err := pinServer(s.m.id, server)
	var report pin.Report
	if err == nil {
		report, err = s.pins.check(lock, like, pin.Kind(s.kind), definitionTexts(all))
	}
	if err != nil {
		if len(all) > 0 {
			s.m.warn("its "+s.kind+"s cannot be compared with what they were, and are not offered",
				err)
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
		attrs := []any{slog.String("server", s.m.id), slog.String(s.kind, v.Name),
			slog.String("state", string(v.State)), slog.String("see", "stdwire pin diff")}
		reason, detail := ReasonNew, ""
		if len(v.Changes) > 0 {
			reason, detail = ReasonChanged, v.Changes[0].String()
			attrs = append(attrs, slog.String("first_change", detail))
		}
		if report.IdentityChange != "" {
			reason, detail = ReasonAnother, report.IdentityChange
			attrs = append(attrs, slog.String("another", report.IdentityChange))
		}
		if told[v.Name] = fmt.Sprint(attrs...); s.pins.warned[v.Name] != told[v.Name] {
			s.m.g.o.Logger.Warn("gateway: a "+s.kind+" is not what it was when it was first used",
				attrs...)
		}
		if !s.m.g.o.PinsWarn {
			withhold(all[i], reason, detail)
		}
	}
	s.pins.warned = told
	return usable
}

// Recheck compares the lists of all servers with their pins after these have changed. It starts no
// server and does not block.
func (g *Gateway) Recheck() {
	for _, m := range g.allUpstreams() {
		select {
		case m.recheck <- struct{}{}:
		default:
		}
	}
}
