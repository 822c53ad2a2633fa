package gateway

import (
	"context"

	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// resolveForApp converts the name of a tool, or the URI of a resource, that an app uses to the
// public one of the app's server. If app is "", the name belongs to the only server with apps that
// has it.
func (g *Gateway) resolveForApp(ctx context.Context, d *downstream, app string, kind mcp.Kind,
	name string) (string, error) {
	if app == "" {
		return g.resolveUnknownTool(ctx, d, name)
	}
	u := g.appOwner(d, app)
	if u == nil {
		return "", rpc.Errorf(rpc.CodeInvalidParams, "There is no app %.200q", app)
	}
	if kind == mcp.KindTool {
		if public, ok := u.toolForApp(ctx, name); ok {
			return public, nil
		}
		return "", rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool of the app: %.200s", name)
	}
	if _, own := appuri.Own(u.id, name); own && appdef.IsURI(name) {
		return name, nil
	}
	if appdef.IsURI(name) {
		if id, rest := appuri.Split(name); rest != "" && d.includes(id) && g.upstream(id) != nil {
			return "", server.ResourceNotFound(name) // the URI of another server's app
		}
		return appuri.Public(u.id, name), nil
	}
	if g.ownerOf(d, name) != u {
		return "", server.ResourceNotFound(name)
	}
	return name, nil
}

// resolveUnknownTool returns the public name for a name that an app may use for a tool of its
// server, or "" if no server with apps has such a tool. It fails if several have one.
func (g *Gateway) resolveUnknownTool(ctx context.Context, d *downstream,
	own string) (string, error) {
	found, owner := "", ""
	for _, u := range g.allUpstreams() {
		if !d.includes(u.id) || !u.hasApps.Load() {
			continue
		}
		public, ok := u.toolForApp(ctx, own)
		switch {
		case !ok:
		case found != "":
			return "", rpc.Errorf(rpc.CodeInvalidParams,
				"Unknown tool: %.200s; the apps of several servers have one, such as %q and %q: "+
					"the host must name the app in _meta[%q]", own, min(owner, u.id),
				max(owner, u.id), mcp.MetaApp)
		default:
			found, owner = public, u.id
		}
	}
	return found, nil
}

// toolForApp returns the public name of a tool that is offered to the client of the request in ctx.
// name is that name or the server's own name.
func (u *upstreamServer) toolForApp(ctx context.Context, name string) (public string, ok bool) {
	offers := u.offersFor(ctx, mcp.KindTool)
	for public, o := range offers {
		if o.Own == name {
			return public, true
		}
	}
	_, ok = offers[name]
	return name, ok
}
