package server

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// resolveForApp returns the tool name or resource URI to use for a request that the host makes for
// an app. It refuses a tool that is not visible to apps.
func (r *request) resolveForApp(kind mcp.Kind, name string) (string, error) {
	app, ok := jsonscan.Text(r.meta.app)
	if !ok || !mcp.IsAppURI(app) {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] must be the URI of an app", mcp.MetaApp)
	}
	if !r.negotiated(mcp.ExtensionApps) {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is for clients with the extension %s", mcp.MetaApp,
			mcp.ExtensionApps)
	}
	s := r.conn.server
	own := s.apps.has(app)
	if resolve := s.upstreams.Load().ResolveForApp; resolve != nil && !own {
		var err error
		if name, err = resolve(r, app, kind, name); err != nil {
			return "", err
		}
	}
	if kind == mcp.KindTool {
		found := s.toolList().byKey[name]
		if found != nil && (!found.visibleToApps() || own && found.tool.forwarded) {
			return "", rpc.Errorf(rpc.CodeInvalidParams, "Apps may not call the tool %.200s", name)
		}
	}
	return name, nil
}

// resolveUnknownTool returns the tool for a name that the server does not have, or nil. Such a
// request may come from an app whose host does not name the app in _meta.
func (r *request) resolveUnknownTool(name string) (*item, error) {
	resolve := r.conn.server.upstreams.Load().ResolveForApp
	if resolve == nil || !r.negotiated(mcp.ExtensionApps) {
		return nil, nil
	}
	name, err := resolve(r, "", mcp.KindTool, name)
	if err != nil {
		return nil, err
	}
	found, _ := r.lookUp(mcp.KindTool, []byte(name))
	if found != nil && found.visibleToApps() {
		return found, nil
	}
	return nil, nil
}

// visibleToApps reports whether an app may call a tool.
func (i *item) visibleToApps() bool {
	var meta mcp.Meta
	if raw := jsonscan.Member(i.definition, "_meta"); raw != nil && mcp.Unmarshal(raw, &meta) != nil {
		return false
	}
	ui, err := mcp.ToolUIOf(meta)
	return err == nil && ui.Allows(mcp.VisibleToApp)
}
