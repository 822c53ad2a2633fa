package server

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
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
