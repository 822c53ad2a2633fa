// Package apps is the host's side of MCP Apps (the extension [mcp.ExtensionApps], revision
// [mcp.AppRevision]) for programs that show the pages that servers offer beside the results of
// their tools. It reads and checks a page, computes the restrictions that a browser must enforce,
// and exchanges messages with the page. It displays nothing: the program puts [App.HTML] into a
// sandboxed frame, and connects the frame's messages to the stream of a [View], one message per
// line.
//
//	var o client.Options
//	apps.Declare(&o)
//	…
//	ui, has := apps.Of(tool)
//	app, err := apps.Read(ctx, c, ui.ResourceURI)
//	v := apps.Options{Tool: tool, OnOpenLink: …}.Open(stream, c, app)
//	defer v.Close()
//	err = v.Input(ctx, arguments)
//	result, err := c.CallToolRaw(ctx, tool.Name, arguments)
//	err = v.Result(ctx, result)
//
// # What a host must do
//
// This package confines a page to its own server: a view sends requests only to its client, and
// calls only tools that are visible to apps. It cannot confine a page to its frame. A host that is
// a web page needs two origins, and a frame with [App.ContentSecurityPolicy] and [App.Allow]; see
// MCP Apps, "Sandbox proxy". The host must not give the model tools for which [ForModel] reports
// false. An app that asks for an origin of its own, Domain of [App.Meta], works without one, unless
// it needs storage, cookies, or an origin that its servers know: a host that gives it none should
// tell its user.
package apps
