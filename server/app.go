package server

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/items"
)

// An App is a page that a client's host shows beside the results of tools (MCP Apps, revision
// [mcp.AppRevision]). A client that does not support the extension [mcp.ExtensionApps] and its MIME
// type gets neither the app nor the reference to it in the tool. It gets the tool's ordinary
// result, which must contain everything that the app shows.
type App struct {
	URI         string // ui://name/page
	Name        string
	Title       string
	Description string

	// HTML is the page: at most [mcp.MaxApp] bytes of UTF-8 that begin with <!doctype html>. The
	// page can load only what CSP allows, so it contains its scripts and styles. If it contains the
	// element
	//
	//	<script data-app></script>
	//
	// the server fills it with the app's side of MCP Apps: a script without dependencies that
	// defines app, with these functions.
	//
	//	app.connect({name, version}, {availableDisplayModes: […]})
	//	                               says hello to the host; resolves to its context
	//	app.onpartial = arguments => … is called with arguments that a model still writes
	//	app.oninput = arguments => …   is called with the arguments of the tool call
	//	app.onresult = result => …     is called with each result of tools/call
	//	app.oncancel = reason => …     is called if the tool call was cancelled
	//	app.oncontext = context => …   is called when the context of the host changes
	//	app.onteardown = reason => …   is called before the host removes the page
	//	app.call(tool, arguments)      calls a tool of the server; resolves to its result
	//	app.read(uri)                  reads a resource of the server
	//	app.open(url), app.say(text)   ask the host to open a link, or to say something to the model
	//	app.tell(structured, text)     replaces the model's information about the page
	//	app.log(level, data)           logs at the host
	//	app.ask(method, params)        sends any other request
	HTML []byte
	// FS and Path name a file in place of HTML. The server reads the file for each request, so that
	// a change of the file shows at the next use of the app.
	FS   fs.FS
	Path string

	CSP         *mcp.AppCSP         // origins that the page needs; nil: none
	Permissions *mcp.AppPermissions // features of the browser that the page needs; nil: none
	Domain      string              // a dedicated origin, in the form that the host defines
	// PrefersBorder says whether the host should draw a border; nil: the host decides.
	PrefersBorder *bool

	// Tools are the tools whose results the app shows, by their names in MCP. The values are the
	// audiences that may call the tool: [mcp.VisibleToModel], [mcp.VisibleToApp] or both; nil means
	// both. A tool that is not visible to the model does not exist for clients without the
	// extension. The tools may be operations, typed or raw tools, and may be added later.
	Tools map[string][]string
}

// appScript is the script that [App].HTML describes.
//
//go:embed app.js
var appScript string

var appScriptElement = []byte("<script data-app></script>")

// AddApp adds an app, or replaces the one with the same URI, and declares the extension. It fails
// if the URI does not begin with ui://, if Name is empty, if a tool has another app or an unknown
// visibility, or if the HTML cannot be read, is too large, is not UTF-8, contains a NUL or does not
// begin with <!doctype html>.
func (s *Server) AddApp(a App) error {
	if err := s.addApp(a); err != nil {
		return fmt.Errorf("server: app %q: %w", a.URI, err)
	}
	s.listChanged(mcp.NotificationToolListChanged)
	return nil
}

func (s *Server) addApp(a App) error {
	if !appdef.IsURI(a.URI) {
		return fmt.Errorf("its URI must begin with %s", mcp.AppScheme)
	}
	if _, err := a.read(); err != nil {
		return err
	}
	for tool, visibility := range a.Tools {
		for _, audience := range visibility {
			if audience != mcp.VisibleToModel && audience != mcp.VisibleToApp {
				return fmt.Errorf("the tool %q: the visibility %.50q is neither %q nor %q", tool,
					audience, mcp.VisibleToModel, mcp.VisibleToApp)
			}
		}
	}
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	now := s.apps.toolsWithout(a.URI)
	for tool, visibility := range a.Tools {
		if other, taken := now[tool]; taken {
			return fmt.Errorf("the tool %q has the app %q already", tool, other.ResourceURI)
		}
		now[tool] = mcp.ToolUI{ResourceURI: a.URI, Visibility: slices.Clone(visibility)}
	}
	resource := mcp.Resource{URI: a.URI, Name: a.Name, Title: a.Title, Description: a.Description,
		MIMEType: mcp.AppMIMEType}
	meta := mcp.Meta{}
	ui := mcp.AppMeta{CSP: a.CSP, Permissions: a.Permissions, Domain: a.Domain,
		PrefersBorder: a.PrefersBorder}
	if err := meta.Set(mcp.MetaUI, ui); err != nil {
		return err
	}
	resource.Meta = meta
	s.apps.used.Store(true)
	err := s.AddResource(Resource{Resource: resource, Extension: mcp.ExtensionApps,
		Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
			html, err := a.read()
			if err != nil {
				return nil, fmt.Errorf("the app %q: %w", a.URI, err)
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: a.URI,
				MIMEType: mcp.AppMIMEType, Text: string(html), Meta: maps.Clone(meta)}}}, nil
		}})
	if err != nil {
		return err
	}
	s.apps.tools.Store(&now)
	return nil
}

// read returns the HTML, with the script filled in.
func (a *App) read() ([]byte, error) {
	html := a.HTML
	switch {
	case a.FS == nil && a.Path == "" && html != nil:
	case a.FS == nil || html != nil:
		return nil, errors.New("it needs HTML, or FS and Path")
	default:
		f, _, err := userfile.OpenFS(a.FS, a.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if html, err = io.ReadAll(io.LimitReader(f, mcp.MaxApp+1)); err != nil {
			return nil, err
		}
	}
	html = bytes.Replace(html, appScriptElement, []byte("<script>"+appScript+"</script>"), 1)
	return html, appdef.CheckHTML(html)
}

// removeApps removes apps and returns their number.
func (s *Server) removeApps(uris []string) (removed int) {
	s.apps.mu.Lock()
	for _, uri := range uris {
		now := s.apps.toolsWithout(uri)
		s.apps.tools.Store(&now)
	}
	s.apps.mu.Unlock()
	if removed = s.Remove(mcp.KindResource, uris...); removed > 0 {
		s.listChanged(mcp.NotificationToolListChanged)
	}
	return removed
}

// apps are the apps of a server.
type apps struct {
	used  atomic.Bool // an app was added once, or apps of other servers are forwarded
	mu    sync.Mutex
	tools atomic.Pointer[map[string]mcp.ToolUI] // by name of the tool; never nil nor modified
}

// toolsWithout returns a copy of the tools without those of an app. The caller holds mu.
func (a *apps) toolsWithout(uri string) map[string]mcp.ToolUI {
	tools := maps.Clone(*a.tools.Load())
	maps.DeleteFunc(tools, func(_ string, ui mcp.ToolUI) bool { return ui.ResourceURI == uri })
	return tools
}

// has reports whether the server itself has an app with this URI.
func (a *apps) has(uri string) bool {
	for _, ui := range *a.tools.Load() {
		if ui.ResourceURI == uri {
			return true
		}
	}
	return false
}

// appsExtension returns the apps extension. The server offers it from its first app on.
func appsExtension() *extension {
	return &extension{
		Extension: Extension{
			ID: mcp.ExtensionApps, Accepts: appdef.Accepted,
			// the server limits requests for an app to what the app may use
			Settings: map[string]struct{}{mcp.MetaApp: {}},
			Meta:     []string{mcp.MetaUI, mcp.MetaUIResourceURI},
		},
		offered: func(_ *era.Era, has declaredKinds) bool { return has.apps },
	}
}

// toolWithApp returns the item of a tool with its app, if it has one. If the model may not call the
// tool, the tool exists only for clients with apps.
func (s *Server) toolWithApp(i *item, apps *map[string]mcp.ToolUI) *item {
	ui, has := (*apps)[i.Key]
	if !has {
		return i
	}
	with := *i
	var err, legacyErr error
	with.Definition, err = items.WithApp(i.Definition, ui)
	if i.Legacy != nil {
		with.Legacy, legacyErr = items.WithApp(i.Legacy, ui)
	}
	if err = cmp.Or(err, legacyErr); err != nil {
		s.log.Error("a tool is listed without its app: its definition is invalid", "tool", i.Key,
			"error", err)
		return i
	}
	if !ui.Allows(mcp.VisibleToModel) {
		with.Extension = mcp.ExtensionApps
	}
	return &with
}

// resolveForApp returns the tool name or resource URI to use for a request that the host makes for
// an app. It refuses a tool that is not visible to apps.
func (r *request) resolveForApp(kind mcp.Kind, name string) (string, error) {
	app, ok := jsonscan.Text(r.params.Meta.App)
	if !ok || !appdef.IsURI(app) {
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
		found := s.toolsFor(r).ByKey[name]
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
	if raw := jsonscan.Member(i.Definition, "_meta"); raw != nil && mcp.Unmarshal(raw, &meta) != nil {
		return false
	}
	ui, err := appdef.ToolUI(meta)
	return err == nil && ui.Allows(mcp.VisibleToApp)
}
