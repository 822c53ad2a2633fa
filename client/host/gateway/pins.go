package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/pincheck"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// errNoClient is the answer to questions of a server that is examined without a client.
var errNoClient = rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: no client can be asked")

// DeclareCapabilities sets handlers in o so that a client declares the same capabilities as a
// gateway and a server offers it the same tools. The handlers refuse every request. Use it to
// compare a server's definitions with pins.
func DeclareCapabilities(o *client.Options) {
	o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
	o.SampleTools = true
	o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return nil, errNoClient
	}
	o.OnSample = func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, errNoClient
	}
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return nil, errNoClient }
	apps.Declare(o)
}

// newPinServer returns the identity of an upstream server in the file of pins.
func newPinServer(id, source, name string) (pin.Server, error) {
	var declared client.Options
	DeclareCapabilities(&declared)
	return pin.NewServer(id, source, name, declared.Capabilities())
}

// Definitions returns a server's definitions of one kind as the gateway pins them: as received,
// without those that have no name or URI or a duplicate one. The definition of an app has the
// digest of its page, which is read. A server that does not implement the kind has none. The kind
// may also be "instructions", of which there is at most one definition.
func Definitions(ctx context.Context, c *client.Client, kind mcp.Kind) (all []json.RawMessage,
	err error) {
	switch kind {
	case mcp.KindApp:
		return pincheck.Apps(ctx, c)
	case pin.Instructions:
		return pin.InstructionsOf(c.Instructions()), nil
	}
	for text, err := range c.Integration().Definitions(ctx, kind) {
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

// checkApp compares an app with its pin, and pins it at its first use. It returns an error if the
// app has changed, unless Options.PinsWarn is set.
func (u *upstreamServer) checkApp(serverName, uri string, read json.RawMessage) error {
	pins := u.g.pins
	if pins == nil {
		return nil
	}
	var result mcp.ReadResourceResult
	if err := mcp.Unmarshal(read, &result); err != nil {
		return rpc.Errorf(rpc.CodeInternalError, "The app %.200q of the server %q is withheld: %v", uri,
			u.id, err)
	}
	identity, err := newPinServer(u.id, u.source, serverName)
	if err != nil {
		return err
	}
	definition, err := pincheck.App(uri, result.Contents)
	if err != nil {
		return err
	}
	definitions := []json.RawMessage{definition}
	report, err := pins.Check(identity, mcp.KindApp, definitions)
	if err != nil {
		return err
	}
	state, reason := report.Verdicts[0].State, "it has changed since its first use"
	switch {
	case report.IdentityChange != "":
		reason = "the identity of its server has changed"
	case state == pin.StateNew: // its tool is pinned too and has not changed
		return pins.Accept(identity, mcp.KindApp, definitions)
	case state == pin.StateSame:
		return nil
	}
	u.g.o.Logger.Warn("gateway: an app does not match its pin", slog.String("server", u.id),
		slog.String("app", uri), slog.String("reason", reason),
		slog.String("see", "stdwire pin diff -s "+u.id), slog.String("source", u.source))
	if u.g.o.PinsWarn {
		return nil
	}
	return rpc.Errorf(rpc.CodeInvalidParams, "The app %.200q of the server %q is withheld: %s", uri,
		u.id, reason)
}

// admit returns the definitions that match their pins, adds the others to withheld, and logs each
// difference once.
func (l *itemList) admit(serverName string, all []*definition.Definition,
	withheld map[string]WithheldItem) (usable []*definition.Definition) {
	pins := l.upstream.g.pins
	if pins == nil {
		return all
	}
	var unreviewed []unreviewedItem
	defer func() { l.setUnreviewed(unreviewed) }()
	public := l.publicNames(all)
	withhold := func(d *definition.Definition, reason Reason, detail string) {
		if public := public[d.Own]; public != "" {
			withheld[public] = WithheldItem{Kind: l.kind, Name: d.Own, Reason: reason,
				Detail: detail}
		}
	}
	identity, err := newPinServer(l.upstream.id, l.upstream.source, serverName)
	var report pin.Report
	if err == nil {
		report, err = l.pins.Check(pins, identity, l.kind, definition.Texts(all))
	}
	if err != nil {
		if len(all) > 0 {
			l.upstream.warn("its "+string(l.kind)+"s cannot be compared with their pins and are not offered",
				err)
		}
		for _, d := range all {
			withhold(d, ReasonUnusable, err.Error())
		}
		return nil
	}
	warned := make(map[string]string)
	for i, v := range report.Verdicts {
		if v.Usable() || l.upstream.g.o.PinsWarn {
			usable = append(usable, all[i])
		}
		if v.Usable() {
			continue
		}
		attrs := []any{slog.String("server", l.upstream.id), slog.String(string(l.kind), v.Name),
			slog.String("state", string(v.State)), slog.String("see", "stdwire pin diff -s "+l.upstream.id)}
		if l.upstream.source != "" {
			attrs = append(attrs, slog.String("source", l.upstream.source))
		}
		reason, detail := ReasonNew, ""
		if len(v.Changes) > 0 {
			reason, detail = ReasonChanged, v.Changes[0].Short(maxChangeText)
			attrs = append(attrs, slog.String("first_change", detail))
		}
		if report.IdentityChange != "" {
			reason, detail = ReasonIdentity, report.IdentityText()
			attrs = append(attrs, slog.String("another", detail))
		}
		if warned[v.Name] = fmt.Sprint(attrs...); l.pins.Warned[v.Name] != warned[v.Name] {
			l.upstream.g.o.Logger.Warn("gateway: a "+string(l.kind)+" does not match its pin",
				attrs...)
		}
		if !l.upstream.g.o.PinsWarn {
			withhold(all[i], reason, detail)
			if name := public[all[i].Own]; name != "" {
				unreviewed = append(unreviewed,
					l.unreviewedItem(serverName, all[i], v.Pinned, name, reason))
			}
		}
	}
	l.pins.Warned = warned
	return usable
}

// unreviewedItem returns an item of a server with this serverInfo.name that a pin withholds.
func (l *itemList) unreviewedItem(serverName string, d *definition.Definition,
	pinned json.RawMessage, public string, reason Reason) unreviewedItem {
	i := unreviewedItem{server: serverName, name: d.Own, text: d.Text, forApps: d.OnlyForApps}
	if pinned != nil {
		accepted, _ := definition.ParseTexts(l.kind, []json.RawMessage{pinned},
			l.upstream.overrides)
		if len(accepted) == 1 {
			d = accepted[0]
		}
	}
	i.known = server.Withheld{Key: public, Why: reasonsForClients[reason], Origin: server.Origin{
		Server: l.upstream.id, Name: d.Own,
		Definition: l.upstream.publicDefinition(l.kind, d, public)}}
	return i
}

// reasonsForClients says why pins withhold an item.
var reasonsForClients = map[Reason]string{
	ReasonChanged:  "its definition has changed",
	ReasonNew:      "it is new",
	ReasonIdentity: "its server is another one than before",
}

// setInstructions replaces the instructions of the server with this serverInfo.name. The caller
// holds applying.
func (u *upstreamServer) setInstructions(server, text string) {
	was, now := u.instructions.Load(), pin.InstructionsOf(text)
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	if !was.isKnown || was.server != server || !slices.EqualFunc(was.pinned, now, same) {
		u.admitInstructions(server, now)
	}
}

// admitInstructions compares instructions with their pin and offers or withholds them. It logs a
// difference once. Those without a pin are not known before the tools, which say whether the server
// can be trusted as at first use. The caller holds applying.
func (u *upstreamServer) admitInstructions(server string, pinned []json.RawMessage) {
	was := u.instructions.Load()
	now := &serverInstructions{isKnown: true, server: server, pinned: pinned}
	defer u.instructions.Store(now)
	if u.g.pins == nil {
		return
	}
	identity, err := newPinServer(u.id, u.source, server)
	var report pin.Report
	compare := u.g.pins.Check
	toolsKnown, suspect := u.list(mcp.KindTool).hasListed, u.isSuspect()
	if !toolsKnown || suspect { // what is first seen now is not pinned
		compare = u.g.pins.Compare
	}
	if err == nil {
		report, err = compare(identity, pin.Instructions, pinned)
	}
	w := WithheldItem{Kind: pin.Instructions, Name: string(pin.Instructions)}
	switch {
	case report.First && !toolsKnown:
		now.isKnown, now.pinned = false, nil
		return
	case pinned == nil:
		return
	case err != nil:
		w.Reason, w.Detail = ReasonUnusable, err.Error()
	case report.First && suspect:
		w.Reason, w.Detail = ReasonNew, "other definitions of the server have changed"
	case report.Verdicts[0].Usable():
		return
	case report.IdentityChange != "":
		w.Reason, w.Detail = ReasonIdentity, report.IdentityText()
	case report.Verdicts[0].State == pin.StateNew:
		w.Reason = ReasonNew
	default:
		w.Reason = ReasonChanged
		w.Detail = report.Verdicts[0].Changes[0].Short(maxChangeText)
	}
	if was.withheld == nil || *was.withheld != w {
		u.g.o.Logger.Warn("gateway: the instructions of a server do not match their pin",
			slog.String("server", u.id), slog.String("reason", string(w.Reason)),
			slog.String("detail", w.Detail), slog.String("see", "stdwire pin diff -s "+u.id),
			slog.String("source", u.source))
	}
	if err != nil || !u.g.o.PinsWarn {
		now.withheld = &w
	}
}

// isSuspect reports whether a definition of the server differs from its pin.
func (u *upstreamServer) isSuspect() bool {
	for _, l := range u.lists {
		for _, w := range l.withheldItems() {
			if w.Reason == ReasonChanged || w.Reason == ReasonIdentity {
				return true
			}
		}
	}
	return false
}

// maxChangeText is how many characters of each value a warning about a changed definition shows.
const maxChangeText = 200

// Recheck makes the gateway compare the latest lists with their pins again. Call it after a
// change of Options.PinFile; if only the gateway has added pins, there is nothing to compare. It
// starts no server and does not wait for the comparison.
func (g *Gateway) Recheck() {
	if g.pins != nil {
		now, was := int64(g.pins.Revision()), g.pinRevision.Load()
		for was < now && !g.pinRevision.CompareAndSwap(was, now) { // a later call may be first
			was = g.pinRevision.Load()
		}
	}
	for _, u := range g.allUpstreams() {
		wake.Up(u.recheck)
	}
}

// A PinReview is what the operator compares before he accepts a definition.
type PinReview struct {
	Pinned   json.RawMessage // the definition that was accepted; nil if it is new
	Now      json.RawMessage // that of the server
	Identity string          // the change of the server's identity since it was pinned, or ""
	Digest   string          // of the pin and the whole identity, as pinned and as it is
}

// ReviewPin compares a definition of a server with its pin. kind and name are those of a
// [WithheldItem] or of another item of the latest list. Of a definition that is withheld from
// several users, it is that of one of them. It starts no server.
func (g *Gateway) ReviewPin(server string, kind mcp.Kind, name string) (r PinReview, err error) {
	err = g.withPin(server, kind, name, nil, func(of pin.Server, definition json.RawMessage) error {
		r, err = g.reviewPin(of, kind, definition)
		return err
	})
	return r, err
}

func (g *Gateway) reviewPin(of pin.Server, kind mcp.Kind, now json.RawMessage) (r PinReview,
	err error) {
	report, err := g.pins.Compare(of, kind, []json.RawMessage{now})
	if err != nil {
		return r, err
	}
	digest, err := report.Digest()
	return PinReview{report.Verdicts[0].Pinned, now, report.IdentityText(), digest}, err
}

// AcceptPin pins a definition of a server, so that it is offered, if the server and its pin still
// are what was reviewed, by the fields Now and Digest of the result of [Gateway.ReviewPin]. If the
// identity of the server has changed, its other pins are removed, and what they were for is
// withheld until it is accepted too.
func (g *Gateway) AcceptPin(server string, kind mcp.Kind, name string, reviewed PinReview) error {
	compare := func(of pin.Server, definition json.RawMessage) error {
		r, err := g.reviewPin(of, kind, definition)
		if err != nil {
			return err
		}
		if !bytes.Equal(r.Now, reviewed.Now) || r.Digest != reviewed.Digest {
			return fmt.Errorf(
				"gateway: the %s %.100q of the server %.50q has changed again: review it once more",
				kind, name, server)
		}
		return g.pins.Accept(of, kind, []json.RawMessage{definition}, name)
	}
	err := g.withPin(server, kind, name, reviewed.Now, compare)
	if err == nil {
		g.Recheck()
	}
	return err
}

// AcceptFor pins a definition that was accepted elsewhere for a server with that identity, of which
// Source does not matter. It pins nothing unless the server has this identity here, too, and has
// pins: its first use pins what it has. It reports whether the definition is pinned now, and
// whether it was not before; then call [Gateway.Recheck].
func (g *Gateway) AcceptFor(of pin.Server, kind mcp.Kind, definition json.RawMessage) (pinned,
	changed bool, err error) {
	for _, u := range g.upstreamsByID([]string{of.ID}) {
		if g.pins == nil || !u.isNamed(of.Name) {
			return false, false, nil
		}
		identity, err := newPinServer(u.id, u.source, of.Name)
		if err != nil {
			return false, false, err
		}
		if same, err := identity.SameIdentity(&of); !same || err != nil {
			return false, false, err
		}
		definitions := []json.RawMessage{definition}
		report, err := g.pins.Compare(identity, kind, definitions)
		switch {
		case err != nil || report.First:
			return false, false, err
		case report.Verdicts[0].Usable():
			return true, false, nil
		}
		err = g.pins.Accept(identity, kind, definitions)
		return err == nil, err == nil, err
	}
	return false, false, nil
}

// isNamed reports whether this is the serverInfo.name of the server, or of that of a user.
func (u *upstreamServer) isNamed(name string) bool {
	u.applying.Lock()
	is := u.server == name
	u.applying.Unlock()
	return is || u.users.haveNamed(name)
}

// withPin calls f with the latest definition of an item and the identity of its server. If users
// have different ones, it is the reviewed one.
func (g *Gateway) withPin(server string, kind mcp.Kind, name string, reviewed json.RawMessage,
	f func(pin.Server, json.RawMessage) error) error {
	for _, u := range g.upstreamsByID([]string{server}) {
		of, definition := u.latest(kind, name)
		if definition == nil {
			of, definition = u.users.unreviewed(kind, name, reviewed)
		}
		if definition == nil || g.pins == nil {
			continue
		}
		identity, err := newPinServer(u.id, u.source, of)
		if err != nil {
			return err
		}
		return f(identity, definition)
	}
	return fmt.Errorf("gateway: the server %.50q has listed no %s %.100q that has a pin", server,
		kind, name)
}

// latest returns a definition of the latest list, or nil, and the serverInfo.name of who sent it.
func (u *upstreamServer) latest(kind mcp.Kind, name string) (server string, text json.RawMessage) {
	u.applying.Lock()
	defer u.applying.Unlock()
	if i := u.instructions.Load(); kind == pin.Instructions && i.pinned != nil {
		return i.server, i.pinned[0]
	}
	for _, l := range u.lists {
		for _, d := range l.listed {
			if l.kind == kind && d.Own == name {
				return l.server, d.Text
			}
		}
	}
	return "", nil
}
