package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"

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

type serverTarget struct{ *server.Server }

func (s serverTarget) add(l *itemList, public string, o *offer) error {
	u := l.upstream
	if o.public == nil {
		o.public = u.publicDefinition(l.kind, o.Definition, public)
	}
	return s.Integration().AddItem(u.item(s.Server, l.kind, o))
}

func (s serverTarget) remove(l *itemList, public string) { s.Remove(l.kind, public) }

// newList returns the list of a kind of items.
func (u *upstreamServer) newList(kind mcp.Kind) *itemList {
	l := &itemList{upstream: u, kind: kind, shared: true,
		targets: func() (targets []itemTarget) {
			for _, s := range u.g.downstreamServersOf(u.id) {
				targets = append(targets, serverTarget{s})
			}
			return targets
		},
		name: func(d *definition.Definition) string { return appuri.Public(u.id, d.Own) }}
	switch kind {
	case mcp.KindTool, mcp.KindPrompt:
		if l.shared = u.g.o.NoPrefix; !l.shared {
			l.distinguish = func(names []string) map[string]string {
				return itemname.Publics(u.id, names, u.g.o.MaxName)
			}
		}
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

// extensionOf returns the extension that a resource belongs to, or "".
func extensionOf(uri, mimeType string) string {
	if appdef.IsURI(uri) || mimeType == mcp.AppMIMEType {
		return mcp.ExtensionApps
	}
	return ""
}
