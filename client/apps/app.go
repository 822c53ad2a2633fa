package apps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// extension returns the extension for [client.Options] of a program that shows apps.
func extension() client.Extension {
	return client.Extension{ID: mcp.ExtensionApps,
		Settings: appdef.Settings{MIMETypes: []string{mcp.AppMIMEType}}}
}

// Declare adds the extension to the options of a client that shows apps, unless they contain it
// already.
func Declare(o *client.Options) {
	if !slices.ContainsFunc(o.Extensions,
		func(e client.Extension) bool { return e.ID == mcp.ExtensionApps }) {
		o.Extensions = append(slices.Clip(o.Extensions), extension())
	}
}

// Of returns the app of a tool, and reports whether the tool has one. It reports false if the _meta
// of the tool is malformed.
func Of(t *mcp.Tool) (ui mcp.ToolUI, has bool) {
	ui, err := appdef.ToolUI(t.Meta)
	return ui, err == nil && ui.ResourceURI != ""
}

// ForModel reports whether a host may give a tool to a model.
func ForModel(t *mcp.Tool) bool {
	ui, _ := appdef.ToolUI(t.Meta) // a malformed value hides nothing
	return ui.Allows(mcp.VisibleToModel)
}

// Destructive reports whether a host must ask its user before an app calls a tool: the server says
// that it may destroy something, or that it is not read-only without saying that it destroys
// nothing (MCP 2026-07-28, Tools, "ToolAnnotations").
func Destructive(t *mcp.Tool) bool {
	a := t.Annotations
	switch {
	case a == nil || a.ReadOnly():
		return false
	case a.DestructiveHint != nil:
		return *a.DestructiveHint
	}
	return a.ReadOnlyHint != nil // false, and destructiveHint is true by default
}

// An App is a page of a server that was read and checked.
type App struct {
	URI  string
	HTML string
	Meta mcp.AppMeta
	// Digest is "sha256:" and the hexadecimal digest of HTML and Meta. An App with another digest
	// is another app.
	Digest string
}

// Read reads an app and makes the checks that a host must make: of its URI; that the server
// returned one page of the MIME type of apps under that URI; and that the page is at most
// [mcp.MaxApp] bytes of UTF-8 without NUL that begin with <!doctype html>, after white space and
// comments. The metadata of the contents takes precedence over that of the list of resources, which
// is fetched only if the contents have none.
//
// The error is one of [client.Client.ReadResource], or describes the defect of the app.
func Read(ctx context.Context, c *client.Client, uri string, opts ...client.CallOption) (*App,
	error) {
	if !appdef.IsURI(uri) {
		return nil, fmt.Errorf("apps: %.200q does not begin with %s", uri, mcp.AppScheme)
	}
	result, err := c.ReadResource(ctx, uri, opts...)
	if err != nil {
		return nil, err
	}
	app, err := newApp(uri, result.Contents)
	if err == nil && result.Contents[0].Meta[mcp.MetaUI] == nil {
		err = app.readListing(ctx, c, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("apps: %.200q: %w", uri, err)
	}
	app.Digest, err = app.digest()
	return app, err
}

func newApp(uri string, contents []mcp.ResourceContents) (*App, error) {
	if len(contents) != 1 {
		return nil, fmt.Errorf("the server returns %d contents, want one page", len(contents))
	}
	page := &contents[0]
	html := []byte(page.Text)
	if page.Blob != nil {
		html = page.Blob
	}
	switch {
	case page.URI != uri:
		return nil, fmt.Errorf("the server returns %.200q in its place", page.URI)
	case page.MIMEType != mcp.AppMIMEType:
		return nil, fmt.Errorf("its MIME type is %.100q, want %q", page.MIMEType, mcp.AppMIMEType)
	}
	if err := appdef.CheckHTML(html); err != nil {
		return nil, err
	}
	app := &App{URI: uri, HTML: string(html)}
	_, err := page.Meta.Get(mcp.MetaUI, &app.Meta)
	return app, err
}

// readListing sets Meta to the metadata of the app in the list of resources, if the list has it.
func (a *App) readListing(ctx context.Context, c *client.Client, opts []client.CallOption) error {
	for r, err := range client.OmitInvalid(c.Resources(ctx, opts...)) {
		if errors.Is(err, rpc.ErrMethodNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.URI == a.URI {
			_, err = r.Meta.Get(mcp.MetaUI, &a.Meta)
			return err
		}
	}
	return nil
}

func (a *App) digest() (string, error) {
	meta, err := mcp.Marshal(a.Meta)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(a.HTML+"\x00"), meta...)) // HTML has no NUL
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
