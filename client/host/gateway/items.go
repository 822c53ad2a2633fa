package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// targetOf returns the target of a tool or prompt, offered under this name, for the client of the
// request in ctx.
func (u *upstreamServer) targetOf(ctx context.Context, d *definition.Definition, public string,
	idempotent bool) target {
	t := u.target(ctx, d.Own, idempotent)
	t.arguments = d.Arguments
	if d.Name != d.Own {
		t.public = public
	}
	return t
}

// target returns the target with this own name for the client of the request in ctx.
func (u *upstreamServer) target(ctx context.Context, own string, idempotent bool) target {
	t := target{upstream: u, id: u.id, name: own, idempotent: idempotent,
		conn: server.ConnFrom(ctx), owner: ownerOf(ctx), level: u.level,
		meta: server.MetaFrom(ctx), maxArguments: u.maxArguments, maxResult: u.maxResult}
	switch {
	case u.sharing == host.PerUser:
		t.session, t.user, t.unusable = u.userOf(ctx)
	case u.sharing == host.PerSession && t.isStateless():
		t.unusable = ErrNoSession
	case u.sharing == host.PerSession:
		t.session = t.owner
	}
	return t
}

// publicName returns the public name of a tool or prompt.
func (u *upstreamServer) publicName(own string) string {
	if u.g.o.NoPrefix {
		return own
	}
	return host.PublicName(u.id, own, u.g.o.MaxName)
}

// publicNames returns the function that distinguishes the public names of tools or prompts, or nil
// if they are the server's own.
func (u *upstreamServer) publicNames() func(own []string) map[string]string {
	if u.g.o.NoPrefix {
		return nil
	}
	return func(own []string) map[string]string {
		return itemname.Publics(u.id, own, u.g.o.MaxName)
	}
}

// publicDefinition returns a definition with its public name or URI. That of a skill, including the
// digests, stays as the server wrote it.
func (u *upstreamServer) publicDefinition(kind mcp.Kind, d *definition.Definition,
	public string) json.RawMessage {
	switch kind {
	case mcp.KindTool:
		text := u.renamed(d, public)
		if output := jsonscan.Member(text, "outputSchema"); output != nil && u.mayShortenTool(d) {
			text = jsonscan.SetMember(text, "outputSchema", largeresult.Schema(output))
		}
		if d.HasApp {
			text = appuri.InTool(u.id, text)
		}
		return text
	case mcp.KindPrompt:
		return u.renamed(d, public)
	case mcp.KindResource, mcp.KindResourceTemplate:
		return definition.WithKey(kind, d.Passed, public)
	}
	return d.Passed
}

// renamed returns the definition of a tool or prompt with its public name and, unless
// Options.NoDescriptionPrefix is set, with the prefix of the description. The prefix alone is the
// description of an item without one, so that a reader still sees the server.
func (u *upstreamServer) renamed(d *definition.Definition, public string) json.RawMessage {
	if u.g.o.NoDescriptionPrefix && d.Own == public {
		return d.Passed
	}
	description, _ := jsonscan.Text(jsonscan.Member(d.Passed, "description"))
	switch {
	case u.g.o.NoDescriptionPrefix:
	case strings.TrimSpace(description) == "":
		description = "[" + u.id + "]"
	default:
		description = "[" + u.id + "] " + description
	}
	return definition.WithName(d.Passed, public, description)
}

type serverTarget struct{ *server.Server }

func (s serverTarget) add(l *itemList, public string, o *offer) error {
	u := l.upstream
	if o.public == nil {
		o.public = u.publicDefinition(l.kind, o.Definition, public)
	}
	return s.Integration().AddItem(u.item(s.Server, l.kind, o))
}

func (s serverTarget) remove(l *itemList, public string) { s.Remove(l.kind, public) }

// list returns the list of a kind of items.
func (u *upstreamServer) list(kind mcp.Kind) *itemList {
	i := slices.IndexFunc(u.lists, func(l *itemList) bool { return l.kind == kind })
	return u.lists[i]
}

// newList returns the list of a kind of items.
func (u *upstreamServer) newList(kind mcp.Kind) *itemList {
	l := &itemList{upstream: u, kind: kind, shared: true,
		targets: func() (targets []itemTarget) {
			for _, s := range u.downstreamServers() {
				targets = append(targets, serverTarget{s})
			}
			return targets
		},
		name: func(d *definition.Definition) string { return appuri.Public(u.id, d.Own) }}
	switch kind {
	case mcp.KindTool, mcp.KindPrompt:
		l.shared, l.distinguish = u.g.o.NoPrefix, u.publicNames()
		l.name = func(d *definition.Definition) string {
			if kind == mcp.KindTool && d.Use == nil && !u.filter.Allows(d.Own) {
				return ""
			}
			return u.publicName(d.Name)
		}
	case mcp.KindSkill:
		l.name = func(d *definition.Definition) string { return d.Own }
	}
	l.pins.Grows = u.sharing == host.PerUser
	if kind == mcp.KindTool && u.g.o.Catalog != nil {
		l.operations = u.operationList(u.g.o.Catalog)
	}
	l.fetcher = listfetch.New(&u.fetches, kind, l.load)
	return l
}

// item returns an item as it is offered at s.
func (u *upstreamServer) item(s *server.Server, kind mcp.Kind, o *offer) server.Item {
	item := server.Item{Kind: kind, Definition: o.public, Server: u.id, Name: o.Own,
		NeedsSession: u.sharing == host.PerSession, Use: u.read}
	own, idempotent := o.Own, o.Idempotent || kind == mcp.KindPrompt
	switch kind {
	case mcp.KindTool, mcp.KindPrompt:
		public := kind.KeyOf(o.public)
		if o.Use != nil {
			item.Use = func(ctx context.Context, _ string,
				arguments json.RawMessage) (json.RawMessage, error) {
				c := &call{kind: kind, arguments: arguments, tool: o.Definition,
					target: u.targetOf(ctx, o.Definition, public, idempotent)}
				if err := u.g.runCall(ctx, c); err != nil {
					return nil, err
				}
				return u.fit(ctx, o.Definition, c.result), nil
			}
			break
		}
		item.Use = func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage,
			error) {
			result, err := u.g.call(ctx, &call{kind: kind, arguments: arguments,
				target: u.targetOf(ctx, o.Definition, public, idempotent), tool: o.Definition})
			if err != nil || kind != mcp.KindTool {
				return result, err
			}
			return u.fit(ctx, o.Definition, result), nil
		}
	case mcp.KindResource, mcp.KindResourceTemplate:
		item.Extension = extensionOf(own, o.MIMEType)
	}
	switch kind {
	case mcp.KindTool:
		if o.HasApp {
			u.hasApps.Store(true)
		}
		item.Listed = u.listed != nil && u.listed.Allows(own)
		if o.OnlyForApps {
			item.Extension = mcp.ExtensionApps
		}
	case mcp.KindPrompt:
		item.Complete = u.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: own})
	case mcp.KindResourceTemplate:
		item.Use = func(ctx context.Context, uri string, _ json.RawMessage) (json.RawMessage,
			error) {
			return u.readMatched(ctx, s, uri)
		}
		item.Complete = u.complete(mcp.CompleteReference{Type: mcp.RefResource, URI: own})
	case mcp.KindSkill:
		item.ReadDirectory = u.readDirectory
	}
	return item
}

// mayShorten reports whether a result of the server may be shortened.
func (u *upstreamServer) mayShorten() bool {
	for _, limit := range u.maxResultText {
		if limit > 0 {
			return true
		}
	}
	return u.g.o.MaxResultText != nil
}

// mayShortenTool reports whether a result of a tool may be shortened. One of an app is not, because
// the app reads it.
func (u *upstreamServer) mayShortenTool(d *definition.Definition) bool {
	limit, given := u.maxText(d.Own)
	return !d.HasApp && !d.OnlyForApps && (limit > 0 || !given && u.g.o.MaxResultText != nil)
}

// maxText returns the limit of the server's definition for a tool.
func (u *upstreamServer) maxText(own string) (limit int, given bool) {
	if limit, given = u.maxResultText[own]; !given {
		limit, given = u.maxResultText["*"]
	}
	return limit, given
}

// fit returns the result of a tool, or a preview if it is too large for the client.
func (u *upstreamServer) fit(ctx context.Context, d *definition.Definition,
	result json.RawMessage) json.RawMessage {
	if !u.mayShortenTool(d) {
		return result
	}
	limit, _ := u.maxText(d.Own)
	if u.g.o.MaxResultText != nil {
		own := 0
		if failure := contain.Call(func() { own = u.g.o.MaxResultText(ctx) }); failure != nil {
			u.g.o.Logger.Error("gateway: the limit of a client's results is not known",
				slog.Any("error", failure))
		}
		if own > 0 && (limit == 0 || own < limit) {
			limit = own
		}
	}
	if limit == 0 {
		return result
	}
	output := jsonscan.Member(d.Passed, "outputSchema")
	if output != nil {
		output = largeresult.Schema(output)
	}
	short, err := u.g.results.Fit(ctx, result, limit, output)
	if err != nil {
		u.g.o.Logger.Warn("gateway: a large result is forwarded whole", slog.String("server", u.id),
			slog.String("tool", d.Own), slog.Any("error", err))
	}
	return short
}

// complete returns a completer that asks the server. It suggests nothing if the server does not
// declare completions.
func (u *upstreamServer) complete(ref mcp.CompleteReference) server.Completer {
	return func(ctx context.Context, argument, typed string,
		resolved map[string]string) (mcp.Completion, error) {
		var found mcp.Completion
		t := u.target(ctx, "", true)
		err := u.g.use(ctx, &t, false, func(c *client.Client) error {
			completion, err := c.Complete(ctx, ref, argument, typed, resolved,
				metaOption(t.metaFor(ctx, c))...)
			if err == nil {
				found = *completion
			}
			return err
		})
		if errors.Is(err, client.ErrUndeclared) {
			return mcp.Completion{Values: []string{}}, nil
		}
		return found, clientError(err)
	}
}

// ownTools returns the tools that the gateway adds to a server's own: those for the kinds of items
// that it offers, unless the server has tools with these names.
func (u *upstreamServer) ownTools(kind mcp.Kind,
	listed []*definition.Definition) (all []*definition.Definition) {
	if u.asTools == nil || kind != mcp.KindTool {
		return nil
	}
	return u.toolsFor(listed, func(kind mcp.Kind) bool { return u.list(kind).hasWanted() })
}

// toolsFor is ownTools for the kinds of which offers returns true.
func (u *upstreamServer) toolsFor(listed []*definition.Definition,
	offers func(mcp.Kind) bool) (all []*definition.Definition) {
	has := map[mcp.Kind]bool{mcp.KindPrompt: offers(mcp.KindPrompt),
		mcp.KindResource: offers(mcp.KindResource) || offers(mcp.KindResourceTemplate)}
	for _, kind := range []mcp.Kind{mcp.KindResource, mcp.KindPrompt} {
		for _, d := range u.asTools[kind] {
			if has[kind] && !slices.ContainsFunc(listed,
				func(own *definition.Definition) bool { return own.Name == d.Name }) {
				all = append(all, d)
			}
		}
	}
	return all
}

// offered returns the offered definitions of a kind as the client of the request in ctx sees them.
func (u *upstreamServer) offered(ctx context.Context, kind mcp.Kind) map[string]json.RawMessage {
	offers := u.offersFor(ctx, kind)
	all := make(map[string]json.RawMessage, len(offers))
	for public, o := range offers {
		if extensionOf(o.Own, o.MIMEType) == "" && server.MaySee(ctx, kind, public) {
			all[public] = u.publicDefinition(kind, o.Definition, public)
		}
	}
	return all
}

// offersFor returns the offered items of a kind for the client of the request in ctx, by their
// public names.
func (u *upstreamServer) offersFor(ctx context.Context, kind mcp.Kind) map[string]*offer {
	if u.sharing == host.PerUser {
		if own := u.knownLists(ctx); own != nil {
			return own.offers[kind]
		}
		return nil
	}
	l := u.list(kind)
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.offered)
}

// readListed reads a URI for a tool, unless the resource is withheld. It reads no apps.
func (u *upstreamServer) readListed(ctx context.Context, uri string) (json.RawMessage, error) {
	_, by, listed := u.g.names.Reader(uri, func(id string) bool { return id == u.id })
	if listed {
		switch _, reason := u.list(by.Kind).status(by.Public); reason {
		case ReasonChanged, ReasonIdentity:
			return nil, u.changedError(by.Kind, by.Public)
		}
	}
	if appdef.IsURI(uri) {
		return nil, server.ResourceNotFound(uri)
	}
	return u.readUnlisted(ctx, uri)
}

// getPrompt gets an offered prompt by its public name.
func (u *upstreamServer) getPrompt(ctx context.Context, public string,
	arguments json.RawMessage) (json.RawMessage, error) {
	o := u.offersFor(ctx, mcp.KindPrompt)[public]
	if o == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown prompt: %.200s", public)
	}
	return u.g.call(ctx, &call{kind: mcp.KindPrompt, arguments: arguments,
		target: u.targetOf(ctx, o.Definition, public, true)})
}
