package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An appDefinition is the pinned definition of an app: for each page its digest and its _meta.ui.
// The names are those of the server.
type appDefinition struct {
	URI   string    `json:"uri"`
	Pages []appPage `json:"pages"`
}

type appPage struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	SHA256   string          `json:"sha256"`
	UI       json.RawMessage `json:"ui,omitzero"`
}

// newAppDefinition returns the definition of an app that has these contents.
func newAppDefinition(uri string, contents []mcp.ResourceContents) (json.RawMessage, error) {
	d := appDefinition{URI: uri, Pages: []appPage{}}
	for _, c := range contents {
		html := []byte(c.Text)
		if c.Blob != nil {
			html = c.Blob
		}
		sum := sha256.Sum256(html)
		d.Pages = append(d.Pages, appPage{c.URI, c.MIMEType, hex.EncodeToString(sum[:]),
			c.Meta[mcp.MetaUI]})
	}
	return mcp.Marshal(d)
}

// appDefinitions returns the definitions of the apps of a server's tools. It omits apps that cannot
// be read.
func appDefinitions(ctx context.Context, c *client.Client) (all []json.RawMessage, err error) {
	seen := map[string]bool{}
	for tool, err := range client.OmitInvalid(c.Tools(ctx)) {
		if err != nil {
			return nil, err
		}
		ui, err := mcp.ToolUIOf(tool.Meta)
		if err != nil || ui.ResourceURI == "" || seen[ui.ResourceURI] {
			continue
		}
		seen[ui.ResourceURI] = true
		result, err := c.ReadResource(ctx, ui.ResourceURI)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		definition, err := newAppDefinition(ui.ResourceURI, result.Contents)
		if err != nil {
			return nil, err
		}
		all = append(all, definition)
	}
	return all, nil
}

// checkApp compares an app with its pin, and pins it at its first use. It returns an error if the
// app has changed, unless Options.PinsWarn is set.
func (u *upstreamServer) checkApp(serverName, uri string, read json.RawMessage) error {
	pins := u.g.o.Pins
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
	definition, err := newAppDefinition(uri, result.Contents)
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
