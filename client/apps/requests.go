package apps

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// handlers maps methods to the handlers of the app's requests. It is read only.
var handlers = map[string]func(v *View, ctx context.Context, params json.RawMessage) (any, error){
	mcp.MethodAppInitialize: (*View).initialize,
	mcp.MethodPing:          (*View).ping,
	mcp.MethodCallTool:      (*View).callTool,
	mcp.MethodReadResource:  (*View).readResource,
	mcp.MethodOpenLink:      (*View).openLink,
	mcp.MethodAppMessage:    (*View).message,
	mcp.MethodModelContext:  (*View).modelContext,
	mcp.MethodDisplayMode:   (*View).displayMode,
}

// done is the result of a request that returns nothing.
var done = struct{}{}

// handle handles all messages of the app.
func (v *View) handle(ctx context.Context, req *rpc.Request) (any, error) {
	if req.IsNotification() {
		v.handleNotification(req)
		return nil, nil
	}
	handler := handlers[req.Method]
	v.mu.Lock()
	gotInitialize := v.gotInitialize
	v.mu.Unlock()
	switch {
	case handler == nil:
		return nil, methodNotFound(req.Method)
	case !gotInitialize && req.Method != mcp.MethodAppInitialize && req.Method != mcp.MethodPing:
		return nil, rpc.Errorf(rpc.CodeInvalidRequest, "Invalid request: send %s first",
			mcp.MethodAppInitialize)
	case len(req.Params) > 0 && req.Params[0] != '{':
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: want an object")
	}
	result, err := handler(v, ctx, json.RawMessage(req.Params))
	if err == nil {
		return result, nil
	}
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return nil, refusal
	}
	v.o.Logger.Warn("apps: a request of an app has failed", "app", v.app.URI, "method", req.Method,
		"error", err)
	return nil, rpc.Errorf(rpc.CodeInternalError, "Internal error")
}

func methodNotFound(method string) error {
	return rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: this host does not serve %.100s",
		method)
}

func (v *View) handleNotification(req *rpc.Request) {
	v.mu.Lock()
	gotInitialize := v.gotInitialize
	v.mu.Unlock()
	if !gotInitialize {
		return
	}
	switch req.Method {
	case mcp.NotificationAppInitialized:
		v.initialized.Do(func() { close(v.ready) })
	case mcp.NotificationSizeChanged:
		var p sizeChangedParams
		if v.o.OnSizeChanged != nil && mcp.Unmarshal(req.Params, &p) == nil && p.Width >= 0 &&
			p.Height >= 0 {
			v.o.OnSizeChanged(p.Width, p.Height)
		}
	case mcp.NotificationMessage:
		var p mcp.LoggingMessageParams
		if v.o.OnLog != nil && mcp.Unmarshal(req.Params, &p) == nil {
			v.o.OnLog(p)
		}
	}
}

func (v *View) ping(context.Context, json.RawMessage) (any, error) { return done, nil }

// decode decodes params.
func decode(params json.RawMessage, into any) error {
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	if err := mcp.Unmarshal(params, into); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
	}
	return nil
}

// initialize answers the handshake (MCP Apps, "Host Context in McpUiInitializeResult").
func (v *View) initialize(_ context.Context, params json.RawMessage) (any, error) {
	var p initializeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gotInitialize, v.modes = true, p.AppCapabilities.AvailableDisplayModes
	context := v.o.Context
	context.DisplayMode = v.mode
	if v.o.Tool != nil {
		tool, err := mcp.Marshal(v.o.Tool)
		if err != nil {
			return nil, err
		}
		context.ToolInfo = jsonscan.SetMember(json.RawMessage(`{}`), "tool", tool)
	}
	can := hostCapabilities{
		ServerTools: &mcp.ListCapability{}, ServerResources: &mcp.ListCapability{},
		Sandbox: &grantedSandbox{CSP: v.app.grantedCSP()},
	}
	if granted := v.app.granted(v.o.Permissions); granted != (mcp.AppPermissions{}) {
		can.Sandbox.Permissions = &granted
	}
	if v.o.OnOpenLink != nil {
		can.OpenLinks = &mcp.Object{}
	}
	if v.o.OnMessage != nil {
		can.Message = &mcp.Object{}
	}
	if v.o.OnModelContext != nil {
		can.UpdateModelContext = &mcp.Object{}
	}
	if v.o.OnLog != nil {
		can.Logging = &mcp.Object{}
	}
	return initializeResult{ProtocolVersion: mcp.AppRevision, HostInfo: v.o.Host,
		HostCapabilities: can, HostContext: context}, nil
}

// forApp returns the option for requests that the host makes for the app.
func (v *View) forApp() client.CallOption {
	var meta mcp.Meta
	_ = meta.Set(mcp.MetaApp, v.app.URI) // a string
	return client.Meta(meta)
}

// callTool calls a tool of the app's server, if it is visible to apps (MCP Apps, "Visibility").
func (v *View) callTool(ctx context.Context, params json.RawMessage) (any, error) {
	name, ok := jsonscan.Text(jsonscan.Member(params, "name"))
	arguments := json.RawMessage(jsonscan.Member(params, "arguments"))
	if !ok || len(arguments) > 0 && arguments[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: name must be a string, and arguments an object")
	}
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	tool, err := v.findTool(ctx, name)
	if err != nil {
		return nil, err
	}
	if v.o.Approve != nil {
		if err := v.o.Approve(ctx, tool, arguments); err != nil {
			return nil, err
		}
	}
	result, err := v.client.CallToolRaw(ctx, name, arguments, v.forApp())
	return json.RawMessage(result), err
}

// findTool returns the tool that the app calls by name. The name need not be in the list of a
// server that confines the requests of apps itself, such as a gateway of this module.
func (v *View) findTool(ctx context.Context, name string) (*mcp.Tool, error) {
	for tool, err := range client.OmitInvalid(v.client.Tools(ctx)) {
		if err != nil {
			return nil, err
		}
		if tool.Name != name {
			continue
		}
		if ui, err := appdef.ToolUI(tool.Meta); err != nil || !ui.Allows(mcp.VisibleToApp) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "Apps may not call the tool %.200s", name)
		}
		return tool, nil
	}
	settings, _ := v.client.Extension(mcp.ExtensionApps)
	if jsonscan.Member(settings, mcp.MetaApp) == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool: %.200s", name)
	}
	return &mcp.Tool{Name: name}, nil
}

// readResource reads a resource of the app's server.
func (v *View) readResource(ctx context.Context, params json.RawMessage) (any, error) {
	uri, ok := jsonscan.Text(jsonscan.Member(params, "uri"))
	if !ok || uri == "" {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: uri must be a string")
	}
	return v.client.Call(ctx, mcp.MethodReadResource, mcp.ReadResourceParams{URI: uri}, v.forApp())
}

func (v *View) openLink(ctx context.Context, params json.RawMessage) (any, error) {
	if v.o.OnOpenLink == nil {
		return nil, methodNotFound(mcp.MethodOpenLink)
	}
	var p openLinkParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: url must be an http or https URL without a user")
	}
	return done, v.o.OnOpenLink(ctx, u.String())
}

func (v *View) message(ctx context.Context, params json.RawMessage) (any, error) {
	if v.o.OnMessage == nil {
		return nil, methodNotFound(mcp.MethodAppMessage)
	}
	var p mcp.AppMessageParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if p.Role != mcp.RoleUser || len(p.Content) == 0 || p.Content[0] != '{' && p.Content[0] != '[' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			`Invalid params: role must be "user", and content a block or an array of blocks`)
	}
	return done, v.o.OnMessage(ctx, p)
}

func (v *View) modelContext(ctx context.Context, params json.RawMessage) (any, error) {
	if v.o.OnModelContext == nil {
		return nil, methodNotFound(mcp.MethodModelContext)
	}
	var p mcp.ModelContextParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if len(p.Content) > 0 && p.Content[0] != '[' ||
		len(p.StructuredContent) > 0 && p.StructuredContent[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: content must be an array, and structuredContent an object")
	}
	return done, v.o.OnModelContext(ctx, p)
}

// displayMode changes the display mode if both sides support the new one, and returns the resulting
// mode (MCP Apps, "Display Modes").
func (v *View) displayMode(ctx context.Context, params json.RawMessage) (any, error) {
	var p displayModeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	v.mu.Lock()
	supported := v.o.OnDisplayMode != nil && p.Mode != v.mode &&
		slices.Contains(v.o.Context.AvailableDisplayModes, p.Mode) &&
		(v.modes == nil || slices.Contains(v.modes, p.Mode))
	mode := v.mode
	v.mu.Unlock()
	if supported {
		var err error
		if mode, err = v.o.OnDisplayMode(ctx, p.Mode); err != nil {
			return nil, err
		}
		v.mu.Lock()
		v.mode = mode
		v.mu.Unlock()
	}
	return displayModeParams{Mode: mode}, nil
}
